"""Format types as Spark's JSON type language, and back.

Struct fields carry their field id in the metadata key `parquet.field.id`, by which Spark's Parquet reader finds
columns, and their doc as `comment`.
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
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    Type,
    UuidType,
)
from sqlext.sql.literal import literal_text

FIELD_ID = "parquet.field.id"
# Spark's own keys: what its Parquet reader gives where a file lacks the column, and what its writes fill in.
_INITIAL_DEFAULT = "EXISTS_DEFAULT"
_WRITE_DEFAULT = "CURRENT_DEFAULT"
_CHAR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"

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
}


def schema_to_spark(schema: Schema) -> dict[str, Any]:
    """The schema as Spark's struct JSON, with field ids."""
    return struct_to_spark(StructType(tuple(schema.fields)))


def struct_as_stored(struct: StructType) -> dict[str, Any]:
    """A struct as Spark's Parquet reader is to read it: a uuid is its bytes there, and a string to everyone else."""
    return struct_to_spark(_as_stored(struct))


def _as_stored(data_type: Type) -> Any:
    match data_type:
        case StructType(fields=fields):
            return StructType(tuple(_field_as_stored(field) for field in fields))
        case ListType():
            return replace(data_type, element=_as_stored(data_type.element))
        case MapType():
            return replace(data_type, key=_as_stored(data_type.key), value=_as_stored(data_type.value))
        case UuidType():
            return FixedType(16)
    return data_type


def _field_as_stored(field: NestedField) -> NestedField:
    if isinstance(field.type, UuidType):
        default = None if field.initial_default is None else field.initial_default.bytes
        return replace(field, type=FixedType(16), initial_default=default, write_default=None)
    return replace(field, type=_as_stored(field.type))


def require_spark_types(schema: Schema) -> None:
    """Raises UnsupportedError for a column that no table may have here, since Spark could not show it."""
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
    """Spark's JSON of one type; UnsupportedError for a type Spark has no counterpart of."""
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
        raise UnsupportedError("UNSUPPORTED_DATA_TYPE", type=data_type, reason="Spark has no type for it")
    return name


def as_nullable(described: Any) -> Any:
    """Spark's type JSON, with null allowed at every depth."""
    if isinstance(described, list):
        return [as_nullable(one) for one in described]
    if not isinstance(described, Mapping):
        return described
    allowed = {"nullable": True, "containsNull": True, "valueContainsNull": True}
    return {key: allowed[key] if key in allowed else as_nullable(value) for key, value in described.items()}


def schema_from_spark(struct: Mapping[str, Any]) -> Schema:
    """A schema with fresh ids in Spark's order (breadth first), from Spark's struct JSON."""
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
    if isinstance(described, str):
        if _CHAR_VARCHAR in metadata:
            raise UnsupportedError(
                "UNSUPPORTED_DATA_TYPE", type=metadata[_CHAR_VARCHAR], reason="its length could not be kept; use STRING"
            )
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
