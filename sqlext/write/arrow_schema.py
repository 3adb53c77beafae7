"""The types of the format as Arrow (spec: Appendix A, Parquet, whose physical types follow from these)."""

from __future__ import annotations

import pyarrow as pa

from sqlext.errors import UnsupportedError
from sqlext.spec.schema import Schema
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
    UuidType,
)

FIELD_ID_KEY = b"PARQUET:field_id"

_PLAIN: dict[type[Type], pa.DataType] = {
    BooleanType: pa.bool_(),
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    FloatType: pa.float32(),
    DoubleType: pa.float64(),
    DateType: pa.date32(),
    TimeType: pa.time64("us"),
    TimestampType: pa.timestamp("us"),
    TimestamptzType: pa.timestamp("us", "UTC"),
    TimestampNanoType: pa.timestamp("ns"),
    TimestamptzNanoType: pa.timestamp("ns", "UTC"),
    StringType: pa.string(),
    UuidType: pa.binary(16),
    BinaryType: pa.binary(),
}


def schema_to_arrow(schema: Schema) -> pa.Schema:
    """The schema's columns as Arrow fields, with the field id in the metadata of each, nested ones included.

    `UnsupportedError` UNSUPPORTED_WRITE for a column whose type this version does not write.
    """
    return pa.schema([_field(field) for field in schema.fields])


def type_to_arrow(type: Type) -> pa.DataType:
    """One type; see `schema_to_arrow`."""
    match type:
        case DecimalType(precision=precision, scale=scale):
            return pa.decimal128(precision, scale)
        case FixedType(length=length):
            return pa.binary(length)
        case StructType(fields=fields):
            return pa.struct([_field(field) for field in fields])
        case ListType():
            return pa.list_(_child("element", type.element_id, type.element, type.element_required))
        case MapType():
            key = _child("key", type.key_id, type.key, True)
            return pa.map_(key, _child("value", type.value_id, type.value, type.value_required))
    plain = _PLAIN.get(type.__class__)
    if plain is None:
        raise UnsupportedError("UNSUPPORTED_WRITE", feature=f"a column of type {type}")
    return plain


def _field(field: NestedField) -> pa.Field:
    return _child(field.name, field.id, field.type, field.required)


def _child(name: str, id: int, type: Type, required: bool) -> pa.Field:
    metadata = {FIELD_ID_KEY: str(id).encode()}
    return pa.field(name, type_to_arrow(type), nullable=not required, metadata=metadata)
