"""Partition statistics as a Parquet file (spec: Partition Statistics File)."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq

from sqlext.spec.arrow_field_id import FIELD_ID_KEY
from sqlext.spec.schema import Schema
from sqlext.spec.types import DecimalType, IntegerType, LongType, NestedField, StructType, Type
from sqlext.write.arrow_schema import as_filed, schema_to_arrow
from sqlext.write.metadata_values import metadata_values

_INT, _LONG = IntegerType(), LongType()
_PARTITION = 1
# By the ids and names that the specification gives them; it lists dv_count in the middle, and Iceberg writes it last.
_OF_ALL_VERSIONS = (
    NestedField(2, "spec_id", _INT, required=True),
    NestedField(3, "data_record_count", _LONG, required=True),
    NestedField(4, "data_file_count", _INT, required=True),
    NestedField(5, "total_data_file_size_in_bytes", _LONG, required=True),
)
_OF_DELETES = (
    (6, "position_delete_record_count", _LONG),
    (7, "position_delete_file_count", _INT),
    (8, "equality_delete_record_count", _LONG),
    (9, "equality_delete_file_count", _INT),
)
# Always null, which means unknown: Iceberg 1.12 takes over the number of an earlier file though rows have changed.
_TOTAL = NestedField(10, "total_record_count", _LONG)
_OF_UPDATES = (
    NestedField(11, "last_updated_at", _LONG),
    NestedField(12, "last_updated_snapshot_id", _LONG),
)
_VECTORS = NestedField(13, "dv_count", _INT, required=True)


def statistics_schema(partition: StructType, format_version: int) -> Schema:
    """The columns of the file, of which some are required, and `dv_count` is there, from format version 3 on."""
    deletes = (NestedField(id, name, type, required=format_version > 2) for id, name, type in _OF_DELETES)
    return Schema(
        (
            NestedField(_PARTITION, "partition", partition, required=True),
            *_OF_ALL_VERSIONS,
            *deletes,
            _TOTAL,
            *_OF_UPDATES,
            *((_VECTORS,) if format_version > 2 else ()),
        )
    )


def encode_partition_statistics(rows: Sequence[Any], partition: StructType, format_version: int) -> bytes:
    """The file of rows that have an attribute for each column but `total_record_count`, and the stored values of the
    partition as a tuple.

    Raises UnsupportedError UNSUPPORTED_WRITE for a partition value of a type that is not written.
    """
    schema = schema_to_arrow(statistics_schema(partition, format_version))
    arrays: list[pa.Array] = [_partitions(rows, partition, schema.field(0).type)]
    for field in list(schema)[1:]:
        values = [None if field.name == _TOTAL.name else getattr(row, field.name) for row in rows]
        arrays.append(pa.array(values, field.type))
    sink = BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema).cast(as_filed(schema)), sink, compression="zstd")
    return sink.getvalue()


def decode_partition_statistics(data: bytes, partition: StructType) -> list[dict[str, Any]]:
    """The rows by column names, those of the format but `total_record_count`; null for a column that the file lacks.
    `partition` has the stored values as a tuple. Raises ValueError for a file without the required columns, and as
    PyArrow."""
    table = pq.read_table(BytesIO(data))
    columns = {_field_id(field): table.column(index) for index, field in enumerate(table.schema)}
    schema = statistics_schema(partition, 3)
    found: dict[str, list[Any]] = {}
    for field in schema.fields:
        if field == _TOTAL:
            continue
        column = columns.get(field.id)
        if field.id == _PARTITION and column is not None:
            found[field.name] = _tuples(column.combine_chunks(), partition)
        elif column is not None:
            found[field.name] = column.to_pylist()
        elif field in _OF_ALL_VERSIONS or field.id == _PARTITION:
            raise ValueError(f"the column {field.name} is missing")
        else:
            found[field.name] = [None] * table.num_rows
    return [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]


def _partitions(rows: Sequence[Any], partition: StructType, arrow_type: pa.DataType) -> pa.Array:
    children = [
        pa.array([_arrow_value(row.partition[place], field.type) for row in rows], arrow_type.field(place).type)
        for place, field in enumerate(partition.fields)
    ]
    return pa.StructArray.from_arrays(children, fields=list(arrow_type))


def _arrow_value(value: Any, type: Type) -> Any:
    """None also for a decimal that `truncate` has rounded down to one with more digits than its type has."""
    if isinstance(value, UUID):
        return value.bytes
    if value is not None and isinstance(type, DecimalType) and len(value.as_tuple().digits) > type.precision:
        return None
    return value


def _tuples(column: pa.StructArray, partition: StructType) -> list[tuple[Any, ...]]:
    by_id = {_field_id(field): column.field(place) for place, field in enumerate(column.type)}
    values = [
        metadata_values(by_id[field.id], field.type) if field.id in by_id else [None] * len(column)
        for field in partition.fields
    ]
    return list(zip(*values, strict=True))


def _field_id(field: pa.Field) -> int:
    """0 for a field without id."""
    return int((field.metadata or {}).get(FIELD_ID_KEY, b"0"))
