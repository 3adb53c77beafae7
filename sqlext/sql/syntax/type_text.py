"""Column types as SQL text: of Spark's values, and of CREATE TABLE."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NoReturn

from sqlext.errors import UnsupportedError
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
    TimestampType,
    TimestamptzType,
    TimeType,
    Type,
    UnknownType,
    UuidType,
    VariantType,
)
from sqlext.sql.tokens.quoting import quote_identifier, quote_string

_SPARK_NAMES: Mapping[type, str] = {
    BooleanType: "BOOLEAN",
    IntegerType: "INT",
    LongType: "BIGINT",
    FloatType: "FLOAT",
    DoubleType: "DOUBLE",
    DateType: "DATE",
    TimeType: "TIME(6)",
    TimestampType: "TIMESTAMP_NTZ",
    TimestamptzType: "TIMESTAMP_LTZ",
    StringType: "STRING",
    UuidType: "STRING",
    FixedType: "BINARY",
    BinaryType: "BINARY",
    VariantType: "VARIANT",
    UnknownType: "VOID",
}


def spark_type_text(type: Type) -> str:
    """The Spark type of values of `type`, without NOT NULL and comments, for casts and assignments."""
    match type:
        case StructType(fields=fields):
            return f"STRUCT<{', '.join(f'{quote_identifier(f.name)}: {spark_type_text(f.type)}' for f in fields)}>"
        case ListType(element=element):
            return f"ARRAY<{spark_type_text(element)}>"
        case MapType(key=key, value=value):
            return f"MAP<{spark_type_text(key)}, {spark_type_text(value)}>"
        case DecimalType(precision=precision, scale=scale):
            return f"DECIMAL({precision},{scale})"
    if type.__class__ not in _SPARK_NAMES:
        refuse_type(str(type), "Spark has no type for it. Read or write the column in an engine that has one")
    return _SPARK_NAMES[type.__class__]


def ddl_type_text(type: Type, id: int = 0, lengths: Mapping[int, int] = MappingProxyType({})) -> str:
    """The type of field `id` as CREATE TABLE spells it, which `parse_type` reads as an equal type.

    `lengths` has the n of each VARCHAR(n), by field id.
    """
    if id in lengths:
        return f"VARCHAR({lengths[id]})"
    match type:
        case StructType(fields=fields):
            return f"STRUCT<{', '.join(_ddl_field(field, lengths) for field in fields)}>"
        case ListType(element=element, element_required=required):
            return f"ARRAY<{ddl_type_text(element, type.element_id, lengths)}{_not_null(required)}>"
        case MapType(key=key, value=value, value_required=required):
            key_text = ddl_type_text(key, type.key_id, lengths)
            return f"MAP<{key_text}, {ddl_type_text(value, type.value_id, lengths)}{_not_null(required)}>"
        case FixedType(length=length):
            return f"BINARY({length})"
        case UuidType():
            return "UUID"
    return spark_type_text(type)


def _ddl_field(field: NestedField, lengths: Mapping[int, int]) -> str:
    comment = "" if field.doc is None else f" COMMENT {quote_string(field.doc)}"
    type_text = ddl_type_text(field.type, field.id, lengths)
    return f"{quote_identifier(field.name)}: {type_text}{_not_null(field.required)}{comment}"


def _not_null(required: bool) -> str:
    return " NOT NULL" if required else ""


def refuse_type(type: str, reason: str) -> NoReturn:
    """Raises UnsupportedError UNSUPPORTED_TYPE."""
    raise UnsupportedError("UNSUPPORTED_TYPE", type=type, reason=reason)
