"""Arrow types of Iceberg types, and values in the form in which Spark shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

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
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    Type,
    UnknownType,
    UuidType,
)

INSTANT = pa.timestamp("us", "UTC")

_ARROW_TYPES: Mapping[type, pa.DataType] = {
    BooleanType: pa.bool_(),
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    FloatType: pa.float32(),
    DoubleType: pa.float64(),
    DateType: pa.date32(),
    TimeType: pa.time64("us"),
    TimestampType: pa.timestamp("us"),
    TimestamptzType: INSTANT,
    TimestampNanoType: pa.timestamp("ns"),
    TimestamptzNanoType: pa.timestamp("ns", "UTC"),
    StringType: pa.string(),
    UuidType: pa.string(),
    BinaryType: pa.binary(),
    FixedType: pa.binary(),
    UnknownType: pa.null(),
}


def arrow_type(value_type: Type) -> pa.DataType:
    """The Arrow type of an Iceberg type: string for uuid, binary for types without an equivalent."""
    if isinstance(value_type, DecimalType):
        return pa.decimal128(value_type.precision, value_type.scale)
    if isinstance(value_type, StructType):
        return pa.struct([arrow_field(field) for field in value_type.fields])
    if isinstance(value_type, ListType):
        element = pa.field("element", arrow_type(value_type.element), nullable=not value_type.element_required)
        return pa.list_(element)
    if isinstance(value_type, MapType):
        value = pa.field("value", arrow_type(value_type.value), nullable=not value_type.value_required)
        return pa.map_(arrow_type(value_type.key), value)
    return _ARROW_TYPES.get(type(value_type), pa.binary())


def arrow_field(field: NestedField) -> pa.Field:
    """The Arrow field of a field, nullable unless it is required."""
    return pa.field(field.name, arrow_type(field.type), nullable=not field.required)


def readable(value_type: Type, value: Any) -> Any:
    """A stored value in the form of `arrow_type`; None for a decimal with more digits than its type, which `truncate`
    may give by rounding down."""
    if value is None:
        return None
    if isinstance(value_type, DecimalType) and len(value.as_tuple().digits) > value_type.precision:
        return None
    return str(value) if isinstance(value_type, UuidType) else value
