"""Rows as PySpark's `collect` makes them, of columns of Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyspark
from pyspark.sql import Row
from pyspark.sql.types import TimestampType

from sqlext.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestamptzType,
    Type,
    UuidType,
)
from sqlext.spec.types import TimestampType as TimestampWithoutZone

_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=timezone.utc), timedelta(microseconds=1)
_BINARY_AS_BYTES = "spark.sql.execution.pyspark.binaryAsBytes"
# Python's values of these are Arrow's.
_PLAIN = (
    BooleanType,
    IntegerType,
    LongType,
    FloatType,
    DoubleType,
    DecimalType,
    DateType,
    StringType,
    TimestampWithoutZone,
)

Converter = Callable[[Any], Any]


def converted(column: pa.Array | pa.ChunkedArray, converter: Converter | None) -> list[Any]:
    """The column's values, each by the `converter` of its type; nulls stay."""
    values: list[Any] = column.to_pylist()
    return values if converter is None else [None if one is None else converter(one) for one in values]


def is_converted(type: Type) -> bool:
    """Whether `converter_of` knows the type."""
    match type:
        case StructType(fields=fields):
            return all(is_converted(field.type) for field in fields)
        case ListType(element=element):
            return is_converted(element)
        case MapType(key=key, value=value):
            return is_converted(key) and is_converted(value)
    return isinstance(type, (*_PLAIN, TimestamptzType, UuidType, BinaryType, FixedType))


def binary_converter(settings: Mapping[str, str]) -> Converter | None:
    """PySpark has a bytearray for a BINARY before 4.1, and bytes since, unless the session asks for the former."""
    newer = tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 1)
    return None if newer and settings.get(_BINARY_AS_BYTES, "true").lower() == "true" else bytearray


def converter_of(type: Type, of_binary: Converter | None) -> Converter | None:
    """Makes PySpark's value of a type, as in `collect`, of that by Arrow's `to_pylist`; None if they are equal."""
    match type:
        case TimestamptzType():
            return _local_time
        case UuidType():
            return lambda value: str(UUID(bytes=value))
        case BinaryType() | FixedType():
            return of_binary
        case StructType(fields=fields):
            names = [field.name for field in fields]
            return partial(_row, names, [converter_of(field.type, of_binary) or _same for field in fields])
        case ListType(element=element):
            of_element = converter_of(element, of_binary)
            return None if of_element is None else partial(_list, of_element)
        case MapType(key=key, value=value):
            return partial(_map, converter_of(key, of_binary) or _same, converter_of(value, of_binary) or _same)
    return None


def _same(value: Any) -> Any:
    return value


def _local_time(value: datetime) -> datetime:
    """The moment in the zone of the process, without naming it."""
    found: datetime = TimestampType().fromInternal((value - _EPOCH) // _MICROSECOND)
    return found


def _row(names: list[str], converters: Sequence[Converter], value: Mapping[str, Any]) -> Row:
    parts = zip(names, converters, strict=True)
    return named_row(names, [None if value[name] is None else converter(value[name]) for name, converter in parts])


def named_row(names: list[str], values: Iterable[Any]) -> Row:
    """A row as `collect` makes it, with its names beside the values."""
    row = Row(*values)
    row.__fields__ = names
    return row


def _list(converter: Converter, value: Sequence[Any]) -> list[Any]:
    return [None if one is None else converter(one) for one in value]


def _map(of_key: Converter, of_value: Converter, value: Sequence[tuple[Any, Any]]) -> dict[Any, Any]:
    return {of_key(one): None if other is None else of_value(other) for one, other in value}
