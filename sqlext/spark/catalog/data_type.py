"""Iceberg types as Spark's JSON types, and back.

Struct fields have their field id in the metadata key `parquet.field.id`, by which Spark's Parquet reader finds columns,
and their doc as `comment`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

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
    GeospatialType,
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
    VariantType,
)
from sqlext.sql.literal import literal_text

FIELD_ID = "parquet.field.id"
# Spark's keys of column defaults: for files without the column, and for writes.
_INITIAL_DEFAULT = "EXISTS_DEFAULT"
_WRITE_DEFAULT = "CURRENT_DEFAULT"
_CHAR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"
_COLLATIONS = "__COLLATIONS"

_TO_SPARK: Mapping[type, str] = {
    BooleanType: "boolean",
    IntegerType: "integer",
    LongType: "long",
    FloatType: "float",
    DoubleType: "double",
    DateType: "date",
    TimestampType: "timestamp_ntz",
    TimestamptzType: "timestamp",
    StringType: "string",
    UuidType: "string",
    BinaryType: "binary",
    FixedType: "binary",
    VariantType: "variant",
    UnknownType: "void",
}
_REASONS: Mapping[type, str] = {
    TimeType: "Spark's own is switched off. Store microseconds of the day as BIGINT, or read such columns in an engine"
    " that has the type",
    TimestampNanoType: "Spark has microseconds, not nanoseconds. Read the table in an engine that has them",
    TimestamptzNanoType: "Spark has microseconds, not nanoseconds. Read the table in an engine that has them",
    GeospatialType: "sqlext does not read them. Read the table in an engine that does, or store well-known binary",
}

_FROM_SPARK: Mapping[str, Type] = {
    "boolean": BooleanType(),
    "byte": IntegerType(),
    "short": IntegerType(),
    "integer": IntegerType(),
    "long": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "date": DateType(),
    "timestamp": TimestamptzType(),
    "timestamp_ntz": TimestampType(),
    "string": StringType(),
    "binary": BinaryType(),
    "variant": VariantType(),
    "void": UnknownType(),
}


def schema_to_spark(schema: Schema) -> dict[str, Any]:
    """The schema as Spark's struct JSON, with field ids."""
    return struct_to_spark(StructType(tuple(schema.fields)))


def struct_as_stored(struct: StructType) -> dict[str, Any]:
    """A struct as Spark's Parquet reader must read it; a UUID is its bytes, where other code has a string.

    A field of type unknown gets the id of no field, so that none is found in any file. Only columns of types other than
    binary, fixed and UUID have an initial default, as Spark's reader has no others. A required field with an initial
    default is optional, since a file may lack it.
    """
    return struct_to_spark(StructType(tuple(_column_as_stored(field) for field in struct.fields)))


def _as_stored(data_type: Type) -> Type:
    match data_type:
        case StructType(fields=fields):
            return StructType(tuple(_field_as_stored(field) for field in fields))
        case ListType():
            return replace(data_type, element=_as_stored(data_type.element))
        case MapType():
            return replace(data_type, key=_as_stored(data_type.key), value=_as_stored(data_type.value))
        case UuidType():
            return FixedType(16)
        case UnknownType():
            return BooleanType()
    return data_type


def _column_as_stored(field: NestedField) -> NestedField:
    unreadable = isinstance(field.type, BinaryType | FixedType | UuidType)
    return _field_as_stored(field, initial_default=None if unreadable else field.initial_default)


def _field_as_stored(field: NestedField, initial_default: Any = None) -> NestedField:
    return replace(
        field,
        id=-field.id if isinstance(field.type, UnknownType) else field.id,
        type=_as_stored(field.type),
        required=field.required and field.initial_default is None,
        initial_default=initial_default,
        write_default=None,
    )


def require_spark_types(schema: Schema) -> None:
    """Raises UnsupportedError for a column of a type that Spark does not have."""
    schema_to_spark(schema)


def struct_to_spark(struct: StructType) -> dict[str, Any]:
    """A struct of fields as Spark's struct JSON, with field ids."""
    return {"type": "struct", "fields": [_field_to_spark(field) for field in struct.fields]}


def _field_to_spark(field: NestedField) -> dict[str, Any]:
    metadata: dict[str, Any] = {FIELD_ID: field.id}
    if field.initial_default is not None:
        metadata[_INITIAL_DEFAULT] = literal_text(field.type, field.initial_default)
    if field.write_default is not None:
        metadata[_WRITE_DEFAULT] = literal_text(field.type, field.write_default)
    if field.doc:
        metadata["comment"] = field.doc
    return {
        "name": field.name,
        "type": type_to_spark(field.type),
        "nullable": not field.required,
        "metadata": metadata,
    }


def type_to_spark(data_type: Type) -> Any:
    """Spark's JSON of a type. Raises UnsupportedError for a type that Spark does not have."""
    if isinstance(data_type, StructType):
        return struct_to_spark(data_type)
    if isinstance(data_type, ListType):
        return {
            "type": "array",
            "elementType": type_to_spark(data_type.element),
            "containsNull": not data_type.element_required,
        }
    if isinstance(data_type, MapType):
        return {
            "type": "map",
            "keyType": type_to_spark(data_type.key),
            "valueType": type_to_spark(data_type.value),
            "valueContainsNull": not data_type.value_required,
        }
    if isinstance(data_type, DecimalType):
        return f"decimal({data_type.precision},{data_type.scale})"
    name = _TO_SPARK.get(type(data_type))
    if name is None:
        raise UnsupportedError("UNSUPPORTED_DATA_TYPE", type=data_type, reason=_REASONS[type(data_type)])
    return name


def as_nullable(described: Any) -> Any:
    """Spark's type JSON, nullable at every level."""
    if isinstance(described, list):
        return [as_nullable(one) for one in described]
    if not isinstance(described, Mapping):
        return described
    allowed = {"nullable": True, "containsNull": True, "valueContainsNull": True}
    return {key: allowed[key] if key in allowed else as_nullable(value) for key, value in described.items()}


def schema_from_spark(struct: Mapping[str, Any]) -> Schema:
    """A schema with new ids, from Spark's struct JSON; the ids of siblings precede those of their nested fields."""
    numbers = iter(range(1, 1 << 31))
    return Schema(_fields_from_spark(struct["fields"], numbers))


def _fields_from_spark(fields: list[Mapping[str, Any]], numbers: Iterator[int]) -> tuple[NestedField, ...]:
    ids = [next(numbers) for _ in fields]
    return tuple(
        NestedField(
            id=field_id,
            name=field["name"],
            type=_type_from_spark(field["type"], field.get("metadata", {}), numbers),
            required=not field["nullable"],
            doc=field.get("metadata", {}).get("comment"),
        )
        for field_id, field in zip(ids, fields, strict=True)
    )


def _type_from_spark(described: Any, metadata: Mapping[str, Any], numbers: Iterator[int]) -> Type:
    if _CHAR_VARCHAR in metadata:
        reason = "its length could not be kept; cast it to STRING"
        raise UnsupportedError("UNSUPPORTED_DATA_TYPE", type=metadata[_CHAR_VARCHAR], reason=reason)
    if _COLLATIONS in metadata:
        names = ", ".join(sorted(str(name).rpartition(".")[2] for name in metadata[_COLLATIONS].values()))
        reason = "Iceberg strings have no collation; cast it to STRING COLLATE UTF8_BINARY"
        raise UnsupportedError("UNSUPPORTED_DATA_TYPE", type=f"STRING COLLATE {names}", reason=reason)
    if isinstance(described, str):
        if described.startswith("decimal("):
            precision, scale = described[len("decimal(") : -1].split(",")
            return DecimalType(int(precision), int(scale))
        known = _FROM_SPARK.get(described)
        if known is None:
            raise UnsupportedError(
                "UNSUPPORTED_DATA_TYPE", type=described, reason="the table format has no type for it"
            )
        return known
    if described["type"] == "struct":
        return StructType(_fields_from_spark(described["fields"], numbers))
    if described["type"] == "array":
        element_id = next(numbers)
        return ListType(
            element_id, _type_from_spark(described["elementType"], {}, numbers), not described["containsNull"]
        )
    if described["type"] == "map":
        key_id, value_id = next(numbers), next(numbers)
        return MapType(
            key_id,
            _type_from_spark(described["keyType"], {}, numbers),
            value_id,
            _type_from_spark(described["valueType"], {}, numbers),
            not described["valueContainsNull"],
        )
    raise UnsupportedError(
        "UNSUPPORTED_DATA_TYPE", type=described["type"], reason="the table format has no type for it"
    )
