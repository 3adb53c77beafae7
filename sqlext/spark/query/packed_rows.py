"""Rows of a query on their way to write tasks: some thousands are one value, which the shim's `PackedRows` makes.

A value has the number of its rows, the number and the sizes of its buffers, and the buffers, each from a multiple of
eight bytes on; all numbers are int64. The buffers are those of the columns, in Arrow's order. Decimals of up to 18
digits are int64, unscaled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import DecimalType, StructType

from sqlext.spark.catalog.arrow_types import to_arrow_schema
from sqlext.spark.shim.java_objects import java_rows, shim_object

_MAX_LONG_DIGITS = 18
_NUMBER_BYTES = 8
# The JVM leaves out the offsets of no lists.
_NO_VALUES = pa.py_buffer(bytes(_NUMBER_BYTES))


def packed(rows: DataFrame) -> DataFrame:
    """The rows as values of one binary column."""
    return DataFrame(shim_object(rows.sparkSession, "PackedRows").of(java_rows(rows)), rows.sparkSession)


def packed_schema(columns: StructType) -> pa.Schema:
    """What `unpacked` gives for rows of these columns."""
    schema = to_arrow_schema(columns)
    for number, column in enumerate(columns.fields):
        if isinstance(column.dataType, DecimalType) and column.dataType.precision <= _MAX_LONG_DIGITS:
            schema = schema.set(number, schema.field(number).with_type(pa.int64()))
    return schema


def unpacked(values: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """A batch for each of the values, which keep their memory."""
    for batch in values:
        for value in batch.column(0):
            yield _batch(value.as_buffer(), schema)


def _batch(value: pa.Buffer, schema: pa.Schema) -> pa.RecordBatch:
    rows, count = np.frombuffer(value, np.int64, 2).tolist()
    start = 2 * _NUMBER_BYTES
    sizes = np.frombuffer(value, np.int64, count, start).tolist()
    start += count * _NUMBER_BYTES
    buffers: list[pa.Buffer | None] = []
    for size in sizes:
        buffers.append(value.slice(start, size) if size else None)
        start += -(-size // _NUMBER_BYTES) * _NUMBER_BYTES
    take = iter(buffers).__next__
    columns = [_array(field.type, rows, take) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _array(type: pa.DataType, length: int, take: Callable[[], pa.Buffer | None]) -> pa.Array:
    if pa.types.is_null(type):
        return pa.nulls(length)
    validity, *values = [take() for _ in range(type.num_buffers)]
    own = [validity, *(_NO_VALUES if one is None else one for one in values)]
    if pa.types.is_struct(type):
        children = [_array(field.type, length, take) for field in type]
    elif pa.types.is_map(type):
        children = [_array(pa.struct([type.key_field, type.item_field]), _end(own[1], length), take)]
    elif pa.types.is_list(type):
        children = [_array(type.value_type, _end(own[1], length), take)]
    else:
        children = []
    return pa.Array.from_buffers(type, length, own, children=children or None)


def _end(offsets: pa.Buffer, length: int) -> int:
    """The number of elements of so many lists."""
    return int(np.frombuffer(offsets, np.int32, length + 1)[length])
