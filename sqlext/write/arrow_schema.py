"""Iceberg types as Arrow types, from which those of Parquet follow (spec: Appendix A, Parquet)."""

from __future__ import annotations

import pyarrow as pa

from sqlext.errors import UnsupportedError
from sqlext.spec.arrow_field_id import FIELD_ID_KEY
from sqlext.spec.schema import Schema
from sqlext.spec.stored_fields import stored_schema
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
    VariantType,
)

_UUID_KEY = b"sqlext.uuid"

# The parts of a variant have no field ids.
VARIANT = pa.struct([pa.field("metadata", pa.binary(), nullable=False), pa.field("value", pa.binary(), nullable=False)])

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
    VariantType: VARIANT,
}


def schema_to_arrow(schema: Schema) -> pa.Schema:
    """The schema's columns as Arrow fields, nested ones included, each with its field id in the metadata.

    Fields of type unknown are left out, as data files have none. Raises UnsupportedError UNSUPPORTED_WRITE for a type
    that this version does not write.
    """
    return pa.schema([_field(field) for field in stored_schema(schema).fields])


def as_filed(schema: pa.Schema) -> pa.Schema:
    """`schema` as the Parquet file has it: uuids are of Parquet's logical type UUID."""
    return pa.schema([field.with_type(_type_as_filed(field)) for field in schema])


def _type_as_filed(field: pa.Field) -> pa.DataType:
    type = field.type
    if pa.types.is_struct(type):
        return pa.struct([child.with_type(_type_as_filed(child)) for child in type])
    if pa.types.is_list(type):
        return pa.list_(type.value_field.with_type(_type_as_filed(type.value_field)))
    if pa.types.is_map(type):
        key, item = type.key_field, type.item_field
        return pa.map_(key.with_type(_type_as_filed(key)), item.with_type(_type_as_filed(item)))
    return pa.uuid() if (field.metadata or {}).get(_UUID_KEY) else type


def type_to_arrow(type: Type) -> pa.DataType:
    """A type as an Arrow type. Raises as `schema_to_arrow`."""
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
    if isinstance(type, UuidType):
        metadata[_UUID_KEY] = b"true"
    return pa.field(name, type_to_arrow(type), nullable=not required, metadata=metadata)
