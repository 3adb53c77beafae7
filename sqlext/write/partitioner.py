"""Rows to partitions: a spec's transforms over whole columns (spec: Partition Transforms)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyiceberg_core import transform as iceberg_rust

from sqlext.errors import DataError, UnsupportedError
from sqlext.spec.partition_spec import PartitionField, PartitionSpec
from sqlext.spec.schema import Schema, nested_fields
from sqlext.spec.single_value import unscaled
from sqlext.spec.transform import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    VoidTransform,
    YearTransform,
)
from sqlext.spec.types import (
    DateType,
    DecimalType,
    TimestampNanoType,
    TimestamptzNanoType,
    Type,
    UuidType,
)

Partition: TypeAlias = tuple[Any, ...]
Integers: TypeAlias = NDArray[np.int64]

_MICROS_PER_HOUR = 3_600_000_000
_MAX_COMBINED = 1 << 62
# Iceberg reads the number in `bucket[N]` and `truncate[W]` as Java's int.
_LARGEST_PARAMETER = (1 << 31) - 1


class Partitioner:
    """Splits batches of a schema by a partition spec. Partition tuples hold stored values."""

    def __init__(self, schema: Schema, spec: PartitionSpec) -> None:
        """`UnsupportedError` UNSUPPORTED_WRITE for a transform that this version cannot compute."""
        self._fields = [_BoundField(schema, field) for field in spec.fields]

    def split(self, batch: pa.RecordBatch) -> Iterator[tuple[Partition, pa.RecordBatch]]:
        """The parts of a batch by partition, rows in their order.

        A part that is most of the batch is a slice of it where that can be; the others are copies, so that keeping a
        few rows does not keep the batch.
        """
        if batch.num_rows == 0:
            return
        keys = [field.keys(batch) for field in self._fields]
        for rows in _groups(_combined([codes for codes, _ in keys], batch.num_rows)):
            partition = tuple(values[codes[rows[0]]] for codes, values in keys)
            yield partition, _part(batch, rows)


class _BoundField:
    """A partition field with the way to its source column."""

    def __init__(self, schema: Schema, field: PartitionField) -> None:
        self._name = field.name
        self._transform = field.transform
        self._void = isinstance(field.transform, VoidTransform)
        if self._void:
            return
        self._type = schema.field(field.source_id).type
        self._indices = column_indices(schema, field.source_id)
        if not field.transform.can_transform(self._type) or _parameter(field.transform) > _LARGEST_PARAMETER:
            feature = f"partitioning by {field.transform} of a column of type {self._type}"
            raise UnsupportedError("UNSUPPORTED_WRITE", feature=feature)

    def keys(self, batch: pa.RecordBatch) -> tuple[Integers, list[Any]]:
        """A code for each row, and the partition value of each code.

        DataError PARTITION_VALUE_OUT_OF_RANGE where rounding a decimal down makes it longer than its type: manifests
        with such a value cannot be rewritten by every engine.
        """
        if self._void:
            return np.zeros(batch.num_rows, np.int64), [None]
        column = batch.column(self._indices[0])
        if len(self._indices) > 1:
            column = pc.struct_field(column, list(self._indices[1:]))
        transformed = transform_column(self._transform, self._type, column)
        encoded = transformed.dictionary_encode(null_encoding="encode")
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        values = encoded.dictionary.to_pylist()
        result_type = self._transform.result_type(self._type)
        if isinstance(result_type, UuidType):
            values = [None if value is None else UUID(bytes=value) for value in values]
        if isinstance(result_type, DecimalType):
            self._require_fitting(result_type, values)
        return codes, values

    def _require_fitting(self, type: DecimalType, values: list[Any]) -> None:
        longest = 10**type.precision
        for value in values:
            if value is not None and abs(unscaled(value, type.scale)) >= longest:
                raise DataError(
                    "PARTITION_VALUE_OUT_OF_RANGE", value=value, field=self._name, transform=self._transform, type=type
                )


def _parameter(transform: Transform) -> int:
    match transform:
        case BucketTransform(n=number) | TruncateTransform(width=number):
            return number
    return 0


def transform_column(transform: Transform, type: Type, column: pa.Array) -> pa.Array:
    """The partition values of a column, as an Arrow array of stored values (dates and times as integers)."""
    column = _as_stored(type, column)
    match transform:
        case IdentityTransform():
            return column
        case BucketTransform(n=n):
            return _bucketed(n, type, column)
        case TruncateTransform(width=width):
            return iceberg_rust.truncate(_aligned(column), width)
    return _with_nulls_of(column, _calendar(transform, type, _numbers(column)), pa.int32())


def _aligned(column: pa.Array) -> pa.Array:
    """The column with decimals at multiples of 16 bytes: the library panics at others, and rows from Spark come in
    messages that are aligned to 8 bytes."""
    return pa.concat_arrays([column, column.slice(0, 0)]) if pa.types.is_decimal(column.type) else column


def column_indices(schema: Schema, id: int) -> tuple[int, ...]:
    """The positions that lead to a field through structs."""
    fields, indices = schema.fields, []
    for name in schema.column_path(id):
        index, field = next((index, field) for index, field in enumerate(fields) if field.name == name)
        indices.append(index)
        fields = nested_fields(field.type)
    return tuple(indices)


def _as_stored(type: Type, column: pa.Array) -> pa.Array:
    if pa.types.is_date32(column.type):
        return column.view(pa.int32())
    if pa.types.is_temporal(column.type):
        return column.view(pa.int64())
    return column


def _bucketed(n: int, type: Type, column: pa.Array) -> pa.Array:
    if isinstance(type, TimestampNanoType | TimestamptzNanoType):
        # They are hashed as microseconds, rounded down (spec: Appendix B).
        column = _with_nulls_of(column, _numbers(column) // 1000, pa.int64())
    return iceberg_rust.bucket(_aligned(column), n)


def _calendar(transform: Transform, type: Type, numbers: Integers) -> Integers:
    if isinstance(type, TimestampNanoType | TimestamptzNanoType):
        numbers = numbers // 1000
    if isinstance(transform, HourTransform):
        return numbers // _MICROS_PER_HOUR
    days = numbers if isinstance(type, DateType) else numbers // (24 * _MICROS_PER_HOUR)
    match transform:
        case DayTransform():
            return days
        case MonthTransform():
            return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
        case YearTransform():
            return days.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64)
    raise UnsupportedError("UNSUPPORTED_WRITE", feature=f"partitioning by {transform}")


def _numbers(column: pa.Array) -> Integers:
    """The values as 64-bit integers; a null is some number."""
    if column.null_count:
        column = pc.fill_null(column, 0)
    return np.asarray(column.to_numpy(zero_copy_only=False)).astype(np.int64, copy=False)


def _with_nulls_of(column: pa.Array, values: Any, type: pa.DataType) -> pa.Array:
    mask = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    return pa.array(values.astype(type.to_pandas_dtype(), copy=False), type, mask=mask)


def _combined(codes: list[Integers], rows: int) -> Integers:
    """One code for each row out of those of all fields."""
    if not codes:
        return np.zeros(rows, np.int64)
    combined, size = codes[0], int(codes[0].max()) + 1
    for field_codes in codes[1:]:
        count = int(field_codes.max()) + 1
        if size * count >= _MAX_COMBINED:
            distinct, combined = np.unique(combined, return_inverse=True)
            size = len(distinct)
        combined, size = combined * count + field_codes, size * count
    return combined


def _groups(codes: Integers) -> list[Integers]:
    """The positions of each code's rows; by runs where the rows come in few of them, else each code once."""
    positions = np.arange(len(codes))
    edges = np.flatnonzero(np.diff(codes)) + 1
    if len(edges) >= 2 * pc.count_distinct(pa.array(codes)).as_py():
        positions = np.argsort(_narrowed(codes), kind="stable")
        edges = np.flatnonzero(np.diff(codes[positions])) + 1
    return np.split(positions, edges)


def _narrowed(codes: Integers) -> NDArray[Any]:
    # A stable sort of 16-bit numbers is a radix sort.
    return codes.astype(np.uint16) if codes.max() <= np.iinfo(np.uint16).max else codes


def _part(batch: pa.RecordBatch, rows: Integers) -> pa.RecordBatch:
    if rows[-1] - rows[0] != len(rows) - 1:
        return batch.take(pa.array(rows))
    part = batch.slice(int(rows[0]), len(rows))
    # Arrow copies when it joins two: several times faster than to take each row.
    return part if 2 * len(rows) >= batch.num_rows else pa.concat_batches([part, batch.slice(0, 0)])
