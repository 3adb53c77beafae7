"""Small data files merged into one, written by the table's current properties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sqlext.errors import CorruptionError
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import UNSORTED, SortField, SortOrder
from sqlext.spec.stored_fields import stored_schema
from sqlext.spec.transform import IdentityTransform
from sqlext.spec.types import (
    BooleanType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)
from sqlext.storage.file_io import FileIO
from sqlext.write.data_writer import DataWriter
from sqlext.write.parquet_file import SCHEMA_KEY, ParquetLayout
from sqlext.write.write_plan import WritePlan

# Types that Arrow sorts as the format does.
_SORTABLE = (
    BooleanType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)


def merge_data_files(
    io: FileIO, metadata: TableMetadata, table_name: str, operation_id: str, files: Sequence[ContentFile]
) -> tuple[Sequence[ContentFile], Sequence[ContentFile]]:
    """Writes the rows of Parquet data files of one partition and one sort order to one file, or to several of the
    table's target size. All rows are in memory at once.

    Returns the new files, and those of `files` that they replace. Files of another partition spec, written under
    another schema or with row ids are left out. Both are empty if fewer than two files are left, the table has
    variants, or its sort order cannot be kept. Rows are in the order of their files, or in the sort order.

    Raises CorruptionError for a damaged file, and as `DataWriter`; no new file is left then.
    """
    order = _kept_order(metadata, files[0].sort_order_id)
    if order is None:
        return (), ()
    plan = WritePlan.from_metadata(metadata, operation_id, table_name)
    plan = replace(plan, schema=stored_schema(plan.schema), sort_order_id=order.order_id)
    layout = ParquetLayout.of(plan.schema, plan.metrics, plan.compression, plan.compression_level)
    if layout.variants:
        # Variants are not read back here.
        return (), ()
    of_spec = (file for file in files if file.spec_id == metadata.default_spec_id)
    read = [(file, rows) for file in of_spec if (rows := _rows(io, file.file_path, layout)) is not None]
    if len(read) < 2:
        return (), ()
    writer = DataWriter(io, plan, 0, 0)
    try:
        for batch in _sorted(pa.concat_tables(rows for _, rows in read), plan.schema, order).to_batches():
            writer.write(batch)
        return writer.close(), [file for file, _ in read]
    except BaseException:
        writer.abort()
        raise


def _kept_order(metadata: TableMetadata, order_id: int | None) -> SortOrder | None:
    if not order_id:
        return UNSORTED
    order = next((one for one in metadata.sort_orders if one.order_id == order_id), None)
    if order is None or not all(_is_kept(metadata.schema(), field) for field in order.fields):
        return None
    return order


def _is_kept(schema: Schema, field: SortField) -> bool:
    column = next((column for column in schema.fields if column.id == field.source_id), None)
    return column is not None and isinstance(field.transform, IdentityTransform) and isinstance(column.type, _SORTABLE)


def _rows(io: FileIO, location: str, layout: ParquetLayout) -> pa.Table | None:
    """None for a file that was written under another schema."""
    try:
        with pq.ParquetFile(BytesIO(io.read(location))) as file:
            written_by = (file.metadata.metadata or {}).get(SCHEMA_KEY.encode())
            return file.read() if written_by == layout.schema_json.encode() else None
    except pa.ArrowException as error:
        raise CorruptionError("CORRUPT_FILE", path=location, kind="data file", reason=error) from error


def _sorted(rows: pa.Table, schema: Schema, order: SortOrder) -> pa.Table:
    keys = []
    for number, field in enumerate(order.fields):
        column = rows.column(next(at for at, one in enumerate(schema.fields) if one.id == field.source_id))
        keys.append(
            (f"n{number}", column.is_null(), "descending" if field.null_order == "nulls-first" else "ascending")
        )
        keys.append((f"v{number}", column, "ascending" if field.direction == "asc" else "descending"))
    if not keys:
        return rows
    by = pa.table({name: values for name, values, _ in keys})
    return rows.take(pc.sort_indices(by, sort_keys=[(name, direction) for name, _, direction in keys]))
