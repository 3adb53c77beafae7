"""The live rows of a Parquet data file as Arrow, projected to a table's current columns (spec: Column Projection)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyroaring import BitMap64

from sqlext.errors import CorruptionError, NotFoundError
from sqlext.scan.scan_plan import FileScanTask
from sqlext.spec.arrow_field_id import fields_by_id
from sqlext.spec.manifests.row_lineage import LAST_UPDATED, ROW_ID
from sqlext.spec.types import NestedField
from sqlext.storage.file_io import FileIO

_KIND = "data file"
# By Arrow type of a table's column: other types that files of other writers, or before a promotion, have for it.
_ALIKE = {
    pa.string(): (pa.large_string(), pa.string_view()),
    pa.binary(): (pa.large_binary(), pa.binary_view()),
    pa.binary(16): (pa.uuid(),),
    pa.int64(): (pa.int32(),),
    pa.float64(): (pa.float32(),),
}


@dataclass(frozen=True, slots=True)
class RowColumns:
    """The columns to read: `fields` of a schema, and the Arrow field of each in new data files of the table."""

    fields: Sequence[NestedField]
    arrow: pa.Schema


def live_rows(io: FileIO, task: FileScanTask, columns: RowColumns, *, lineage: bool) -> pa.Table | None:
    """The rows that are not deleted by position, in order; equality deletes are ignored.

    With `lineage` the columns `_row_id` and `_last_updated_sequence_number` follow (spec: Row Lineage). Columns without
    field ids in the file count as missing. None if a column has a type that is not supported here. Raises NotFoundError
    or CorruptionError naming the file.
    """
    path = task.file.file_path
    try:
        with io.open_input(path) as source, pq.ParquetFile(source) as file:
            there = fields_by_id(file.schema_arrow)
            wanted = [there.get(field.id) for field in columns.fields]
            if not all(map(_is_taken, columns.arrow, wanted)):
                return None
            moved = [there[field.id].name for field in (ROW_ID, LAST_UPDATED) if lineage and field.id in there]
            read = file.read(columns=[*(field.name for field in wanted if field is not None), *moved])
            count = file.metadata.num_rows
    except FileNotFoundError as error:
        raise NotFoundError("FILE_NOT_FOUND", path=path, kind=_KIND) from error
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CorruptionError("CORRUPT_FILE", path=path, kind=_KIND, reason=error) from error
    rows = [
        _default(told, field.type, count) if found is None else _typed(read.column(found.name), field.type)
        for told, field, found in zip(columns.fields, columns.arrow, wanted, strict=True)
    ]
    names = columns.arrow.names
    if lineage:
        stored = {id: read.column(there[id].name) for id in (ROW_ID.id, LAST_UPDATED.id) if id in there}
        rows += _lineage(task, count, stored)
        names = [*names, ROW_ID.name, LAST_UPDATED.name]
    live = pa.table(rows, names=names)
    return live if task.position_deletes is None else live.filter(_live(task.deleted_positions(), count))


def _is_taken(column: pa.Field, stored: pa.Field | None) -> bool:
    """Whether a column of the file, None if missing, can be cast to the table's type without loss."""
    if stored is None or stored.type.equals(column.type, check_metadata=True):
        return True
    if pa.types.is_decimal128(column.type) and pa.types.is_decimal(stored.type):
        fits: bool = stored.type.precision <= column.type.precision
        return fits and stored.type.scale == column.type.scale
    return stored.type in _ALIKE.get(column.type, ())


def _typed(column: pa.ChunkedArray, type: pa.DataType) -> pa.ChunkedArray:
    if isinstance(column.type, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
    return column.cast(type)


def _default(field: NestedField, type: pa.DataType, count: int) -> pa.Array:
    """The initial default of a column that the file lacks, `count` times."""
    value = field.initial_default
    return pa.repeat(pa.scalar(value.bytes if isinstance(value, UUID) else value, type), count)


def _lineage(task: FileScanTask, count: int, stored: Mapping[int, pa.ChunkedArray]) -> list[pa.Array | pa.ChunkedArray]:
    """Row ids and last updated sequence numbers, stored or inherited; null if the file has no first row id."""
    first = task.file.first_row_id
    if first is None:
        return [pa.nulls(count, pa.int64())] * 2
    inherited = {
        ROW_ID.id: pa.array(np.arange(first, first + count)),
        LAST_UPDATED.id: pa.repeat(pa.scalar(task.sequence_number, pa.int64()), count),
    }
    return [pc.coalesce(stored[id], own) if id in stored else own for id, own in inherited.items()]


def _live(deleted: BitMap64, count: int) -> pa.Array:
    live = np.ones(count, np.bool_)
    positions = np.frombuffer(deleted.to_array(), np.uint64)
    live[positions[positions < count].astype(np.int64)] = False
    return pa.array(live)
