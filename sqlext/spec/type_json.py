"""Types in the JSON form of table metadata (spec: Appendix C, Schemas)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sqlext.spec import single_value
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
    PrimitiveType,
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

_PLAIN: dict[str, PrimitiveType] = {
    str(plain): plain
    for plain in (
        BooleanType(),
        IntegerType(),
        LongType(),
        FloatType(),
        DoubleType(),
        DateType(),
        TimeType(),
        TimestampType(),
        TimestamptzType(),
        TimestampNanoType(),
        TimestamptzNanoType(),
        StringType(),
        UuidType(),
        BinaryType(),
        UnknownType(),
        VariantType(),
    )
}
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_FIXED = re.compile(r"fixed\[\s*(\d+)\s*\]")
_GEOSPATIAL = re.compile(r"geo(metry|graphy)(\(.*\))?")


def type_from_json(obj: Any) -> Type:
    """The type of a JSON value. Raises ValueError or KeyError for a value that is not a type."""
    if isinstance(obj, str):
        return _primitive(obj)
    match obj["type"]:
        case "struct":
            return StructType(tuple(field_from_json(field) for field in obj["fields"]))
        case "list":
            return ListType(obj["element-id"], type_from_json(obj["element"]), obj["element-required"])
        case "map":
            key, value = type_from_json(obj["key"]), type_from_json(obj["value"])
            return MapType(obj["key-id"], key, obj["value-id"], value, obj["value-required"])
    raise ValueError(f"{obj['type']!r} is no nested type")


def _primitive(text: str) -> PrimitiveType:
    plain = _PLAIN.get(text)
    if plain is not None:
        return plain
    if match := _DECIMAL.fullmatch(text):
        return DecimalType(int(match[1]), int(match[2]))
    if match := _FIXED.fullmatch(text):
        return FixedType(int(match[1]))
    if _GEOSPATIAL.fullmatch(text):
        return GeospatialType(text)
    raise ValueError(f"{text!r} is no type of the format")


def type_to_json(type: Type) -> Any:
    """The JSON value of a type."""
    match type:
        case StructType(fields=fields):
            return {"type": "struct", "fields": [field_to_json(field) for field in fields]}
        case ListType():
            return {
                "type": "list",
                "element-id": type.element_id,
                "element": type_to_json(type.element),
                "element-required": type.element_required,
            }
        case MapType():
            return {
                "type": "map",
                "key-id": type.key_id,
                "key": type_to_json(type.key),
                "value-id": type.value_id,
                "value": type_to_json(type.value),
                "value-required": type.value_required,
            }
        case DecimalType():
            # With the space that Iceberg's Java library writes.
            return f"decimal({type.precision}, {type.scale})"
    return str(type)


def field_from_json(obj: Mapping[str, Any]) -> NestedField:
    """The struct field in `obj`, with defaults as stored values. Raises ValueError or KeyError for an invalid one."""
    type = type_from_json(obj["type"])
    return NestedField(
        id=obj["id"],
        name=obj["name"],
        type=type,
        required=obj["required"],
        doc=obj.get("doc"),
        initial_default=single_value.from_json(type, obj.get("initial-default")),
        write_default=single_value.from_json(type, obj.get("write-default")),
    )


def field_to_json(field: NestedField) -> dict[str, Any]:
    """The JSON object of a struct field, without `doc` and defaults that are None."""
    obj: dict[str, Any] = {
        "id": field.id,
        "name": field.name,
        "required": field.required,
        "type": type_to_json(field.type),
    }
    if field.doc is not None:
        obj["doc"] = field.doc
    if field.initial_default is not None:
        obj["initial-default"] = single_value.to_json(field.type, field.initial_default)
    if field.write_default is not None:
        obj["write-default"] = single_value.to_json(field.type, field.write_default)
    return obj
