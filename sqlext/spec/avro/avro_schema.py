"""Struct types as Avro schemas with Iceberg's field ids, and back to what decodes them (spec: Appendix A, Avro)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

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

_PRIMITIVES: dict[type, Any] = {
    UnknownType: "null",
    BooleanType: "boolean",
    IntegerType: "int",
    LongType: "long",
    FloatType: "float",
    DoubleType: "double",
    StringType: "string",
    BinaryType: "bytes",
    DateType: {"type": "int", "logicalType": "date"},
    TimeType: {"type": "long", "logicalType": "time-micros"},
    TimestampType: {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
    TimestamptzType: {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
    TimestampNanoType: {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": False},
    TimestamptzNanoType: {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": True},
}


def decimal_size(precision: int) -> int:
    """The bytes that hold every unscaled value of `precision` digits."""
    size = 1
    while 10**precision - 1 > (1 << (8 * size - 1)) - 1:
        size += 1
    return size


def to_avro(struct: StructType, name: str) -> dict[str, Any]:
    """The Avro record of a struct, as JSON, with `field-id` and `element-id` attributes."""
    return _record(struct, name, set())


def _record(struct: StructType, name: str, named: set[str]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [_field(field, named) for field in struct.fields]}


def _field(field: NestedField, named: set[str]) -> dict[str, Any]:
    avro_name = sanitized(field.name)
    avro_type = _type(field.type, field.id, named)
    obj: dict[str, Any] = {"name": avro_name, "type": avro_type}
    if field.doc is not None:
        obj["doc"] = field.doc
    if not field.required:
        obj["type"] = avro_type if avro_type == "null" else ["null", avro_type]
        obj["default"] = None
    obj["field-id"] = field.id
    if avro_name != field.name:
        obj["iceberg-field-name"] = field.name
    return obj


def _type(type_: Type, field_id: int, named: set[str]) -> Any:
    match type_:
        case StructType():
            return _record(type_, f"r{field_id}", named)
        case ListType():
            element = _type(type_.element, type_.element_id, named)
            items = element if type_.element_required else ["null", element]
            return {"type": "array", "items": items, "element-id": type_.element_id}
        case MapType():
            return _map(type_, named)
        case DecimalType(precision=precision, scale=scale):
            logical = {"logicalType": "decimal", "precision": precision, "scale": scale}
            return _fixed(f"decimal_{precision}_{scale}", decimal_size(precision), logical, field_id, named)
        case UuidType():
            return _fixed("uuid_fixed", 16, {"logicalType": "uuid"}, field_id, named)
        case FixedType(length=length):
            return _fixed(f"fixed_{length}", length, {}, field_id, named)
    return _PRIMITIVES[type(type_)]


def _map(type_: MapType, named: set[str]) -> dict[str, Any]:
    # Avro's own maps have string keys only; Iceberg writes others as an array of pairs.
    pair = StructType(
        (
            NestedField(type_.key_id, "key", type_.key, True),
            NestedField(type_.value_id, "value", type_.value, type_.value_required),
        )
    )
    record = _record(pair, f"k{type_.key_id}_v{type_.value_id}", named)
    return {"type": "array", "items": record, "logicalType": "map"}


def _fixed(name: str, size: int, logical: Mapping[str, Any], field_id: int, named: set[str]) -> dict[str, Any]:
    # A second type of the name gets its own: a reference to the first is more than every reader follows.
    unique = f"{name}_{field_id}" if name in named else name
    named.add(unique)
    return {"type": "fixed", "name": unique, "size": size, **logical}


def sanitized(name: str) -> str:
    """A name that Avro takes: other characters become `_x` and their code, a leading digit gets `_` before it."""
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        return name
    escaped = re.sub(r"[^A-Za-z0-9_]", lambda match: f"_x{ord(match[0]):X}", name)
    return f"_{escaped}" if escaped[:1].isdigit() else escaped


def physical(schema: Any, names: Mapping[int, str]) -> Any:
    """The schema that codes the same bytes with physical types only, fields named by id.

    A field is called `names[field-id]`, or `p<field-id>` from 1000 on (partition fields), or what the schema calls it.
    """
    match schema:
        case [*branches]:
            return [physical(branch, names) for branch in branches]
        case {"type": "record"}:
            fields = [
                {"name": field_key(field, names), "type": physical(field["type"], names)} for field in schema["fields"]
            ]
            return {"type": "record", **_name(schema), "fields": fields}
        case {"type": "array"}:
            return {"type": "array", "items": physical(schema["items"], names)}
        case {"type": "map"}:
            return {"type": "map", "values": physical(schema["values"], names)}
        case {"type": "fixed"}:
            return {"type": "fixed", **_name(schema), "size": schema["size"]}
        case {"type": "enum"}:
            return {"type": "enum", **_name(schema), "symbols": schema["symbols"]}
        case {"type": inner}:
            return physical(inner, names)
    return schema


def encoding(schema: Any) -> Any:
    """A `physical` schema without the names of types: schemas with equal ones code equal values in equal bytes, if
    their fields have equal names."""
    return _encoding(schema, {})


def _encoding(schema: Any, named: dict[str, Any]) -> Any:
    match schema:
        case [*branches]:
            return [_encoding(branch, named) for branch in branches]
        case {"type": "record", "fields": fields}:
            return {"record": [(field["name"], _encoding(field["type"], named)) for field in fields]}
        case {"type": "array", "items": items}:
            return {"array": _encoding(items, named)}
        case {"type": "map", "values": values}:
            return {"map": _encoding(values, named)}
        case {"type": "fixed", "size": size}:
            return named.setdefault(str(schema.get("name")), {"fixed": size})
        case str():
            return named.get(schema, schema)
    return schema


def field_key(field: Mapping[str, Any], names: Mapping[int, str]) -> str:
    """The name `physical` gives a field."""
    id = field.get("field-id")
    if id is None:
        return str(field["name"])
    return f"p{id}" if id >= 1000 else names.get(id, field["name"])


def _name(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {key: schema[key] for key in ("name", "namespace") if key in schema}
