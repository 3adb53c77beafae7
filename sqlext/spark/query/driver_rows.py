"""Query results on the driver: estimates of their size, and their rows as Arrow.

Each function makes one call to the JVM. PySpark's `toArrow` makes a dozen, opens a socket, and runs a job even for
local rows.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyroaring import BitMap64
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DataType, MapType, NullType, StructType, VariantType

from sqlext.spark.catalog.arrow_types import to_arrow_schema
from sqlext.spark.shim.java_objects import java_rows, shim_object
from sqlext.spec.nesting import MAX_LEVELS, too_deep
from sqlext.thresholds import ALL_ROWS, Thresholds

# Spark's overhead of a row in bytes.
_ROW_BYTES = 8
DRIVER_BYTES = Thresholds().driver_bytes
_ALL_BYTES = 2**62
_FILE = "_file"
_PATHS = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, slots=True)
class Estimate:
    """The optimiser's estimate of a result. `repeatable`: another run on the same data gives the same rows.
    `may_be_few`: not small, but a condition may leave few rows, and an attempt costs little. `is_broadcast`: small, and
    Spark broadcasts it, so a query may contain it twice."""

    rows: int
    is_small: bool
    repeatable: bool
    may_be_few: bool
    is_broadcast: bool


def estimate(rows: DataFrame, most_bytes: int = DRIVER_BYTES) -> Estimate:
    """The estimate of a result. Without a row count by the optimiser, the count follows from the size.

    A result is small if the optimiser's estimate is at most `most_bytes`. The estimate is raised if a table's files are
    larger than Spark estimates their rows to be, as with long strings.
    """
    found = json.loads(_shim(rows).estimate(java_rows(rows)))
    size, counted = found["bytes"], found["rows"]
    count = size // (_ROW_BYTES + found["row_bytes"]) if counted is None else counted
    fits = size <= most_bytes and size * found["understated"] <= most_bytes and not found["multiplies"]
    takes = can_be_collected(rows)
    may_be_few = takes and not fits and found["filters"] and found["repeatable"]
    return Estimate(count, fits and takes, found["repeatable"], may_be_few, found["broadcast"])


def is_small(rows: DataFrame, most_bytes: int = DRIVER_BYTES) -> bool:
    """Whether a result is small; see `estimate`."""
    return estimate(rows, most_bytes).is_small


def can_be_collected(rows: DataFrame) -> bool:
    """Whether PySpark can convert the columns to Arrow: no variants, no type void inside arrays, no too deep
    nesting."""
    return _is_arrow(rows.schema) and _too_deep(rows) is None


def require_levels(rows: DataFrame) -> None:
    """Raises UnsupportedError TOO_DEEPLY_NESTED for a column that cannot be passed to Python on executors or driver."""
    column = _too_deep(rows)
    if column is not None:
        raise too_deep(column)


def collect_row(rows: DataFrame) -> pa.Table:
    """The single row of a query, with the Arrow types of `toArrow`."""
    return _table(rows, _shim(rows).collect(java_rows(rows), ALL_ROWS, _ALL_BYTES))


def collect_few(rows: DataFrame, most: int = ALL_ROWS, most_bytes: int = DRIVER_BYTES) -> pa.Table | None:
    """All rows of a query, in order, with the Arrow types of `toArrow`; a column `_file` is dictionary-encoded.

    None if there are more than `most`, or more than `most_bytes` as Arrow: then not many more reach the driver,
    whatever the estimate was.
    """
    streams = _shim(rows).collect(java_rows(rows), most, most_bytes)
    return None if streams is None else _table(rows, streams)


def collect_positions(rows: DataFrame) -> Iterator[tuple[str, BitMap64, BitMap64]]:
    """By task and data file: the path, positions of the query's rows, and those of them that occur more than once.

    The query has columns `_file` and `_pos`; executors send bitmaps instead of rows.
    """
    for batch in _batches(_shim(rows).collectPositions(java_rows(rows))):
        for path, positions, repeated in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield path, BitMap64.deserialize(positions), BitMap64.deserialize(repeated)


def collect_written(rows: DataFrame, tasks: int | None) -> list[pa.RecordBatch]:
    """All rows of a query whose last step is `mapInArrow` with a write task over packed rows.

    Its shuffles have at most `tasks` partitions; None: the session's number.
    """
    return _batches(_shim(rows).collectWritten(java_rows(rows), tasks or 0))


def checkpointed(rows: DataFrame, tasks: int | None) -> DataFrame:
    """The rows as a local checkpoint, evaluated now. See `collect_written` for `tasks`."""
    return DataFrame(
        shim_object(rows.sparkSession, "JobSettings").checkpointed(java_rows(rows), tasks or 0), rows.sparkSession
    )


def _table(rows: DataFrame, packed: str) -> pa.Table:
    schema = to_arrow_schema(rows.schema)
    if not packed:
        return schema.empty_table()
    if _FILE in schema.names and schema.field(_FILE).type == pa.string():
        at = schema.names.index(_FILE)
        schema = schema.set(at, schema.field(at).with_type(_PATHS))
        return _typed(pa.Table.from_batches(_with_paths(_streams(packed), at)), schema).unify_dictionaries()
    return _typed(pa.Table.from_batches(_batches(packed)), schema)


def _typed(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows in the schema's types; fields of null structs become nullable if Arrow requires it."""
    try:
        return rows.cast(schema)
    except pa.ArrowInvalid:
        return rows.cast(pa.schema([field.with_type(_with_nulls(field.type)) for field in schema]))


def _with_nulls(type: pa.DataType) -> pa.DataType:
    """The type with nullable fields in structs, lists and map values."""
    if pa.types.is_struct(type):
        return pa.struct([field.with_type(_with_nulls(field.type)).with_nullable(True) for field in type])
    if pa.types.is_list(type):
        return pa.list_(type.value_field.with_type(_with_nulls(type.value_type)).with_nullable(True))
    if pa.types.is_map(type):
        return pa.map_(type.key_type, type.item_field.with_type(_with_nulls(type.item_type)).with_nullable(True))
    return type


def _with_paths(streams: Iterator[pa.RecordBatchReader], at: int) -> Iterator[pa.RecordBatch]:
    """The rows of the streams: each stream of file paths is followed by one of rows with indexes into it."""
    for of_paths in streams:
        paths = pa.chunked_array([batch.column(0) for batch in of_paths], pa.string()).combine_chunks()
        for batch in next(streams):
            *columns, numbers = batch.columns
            columns.insert(at, pa.DictionaryArray.from_arrays(numbers, paths))
            *names, _ = batch.schema.names
            yield pa.RecordBatch.from_arrays(columns, [*names[:at], _FILE, *names[at:]])


def _batches(packed: str) -> list[pa.RecordBatch]:
    return [batch for stream in _streams(packed) for batch in stream]


def _streams(packed: str) -> Iterator[pa.RecordBatchReader]:
    """Concatenated Arrow streams from Base64 of zstd. Each must be read before the next."""
    if not packed:
        return
    unpacked = pa.CompressedInputStream(pa.BufferReader(b64decode(packed)), "zstd")
    buffer = pa.BufferReader(unpacked.read())
    while buffer.tell() < buffer.size():
        yield pa.ipc.open_stream(buffer)


def _shim(rows: DataFrame) -> Any:
    return shim_object(rows.sparkSession, "DriverRows")


def _too_deep(rows: DataFrame) -> str | None:
    """The name of a column whose type nests too deeply for Arrow, if any."""
    left: list[tuple[str, DataType, int]] = [(field.name, field.dataType, 0) for field in rows.schema.fields]
    while left:
        name, type, level = left.pop()
        if level > MAX_LEVELS:
            return name
        match type:
            case StructType(fields=fields):
                left += [(name, field.dataType, level + 1) for field in fields]
            case ArrayType(elementType=element):
                left.append((name, element, level + 1))
            case MapType(keyType=key, valueType=value):
                left += [(name, key, level + 2), (name, value, level + 2)]
    return None


def _is_arrow(type: DataType, *, repeated: bool = False) -> bool:
    match type:
        case StructType(fields=fields):
            return all(_is_arrow(field.dataType, repeated=repeated) for field in fields)
        case ArrayType(elementType=element):
            return _is_arrow(element, repeated=True)
        case MapType(keyType=key, valueType=value):
            return _is_arrow(key, repeated=True) and _is_arrow(value, repeated=True)
    return not isinstance(type, VariantType) and not (repeated and isinstance(type, NullType))
