"""The schema of an Avro data file as Arrow types (spec: Appendix A, Avro)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

_PLAIN: Mapping[str, pa.DataType] = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
}
_LOGICAL: Mapping[str, pa.DataType] = {
    "date": pa.date32(),
    "time-micros": pa.time64("us"),
    "local-timestamp-millis": pa.timestamp("ms"),
    "local-timestamp-micros": pa.timestamp("us"),
    "local-timestamp-nanos": pa.timestamp("ns"),
}
_UNITS = {"timestamp-millis": "ms", "timestamp-micros": "us", "timestamp-nanos": "ns"}


def arrow_schema(schema: Any) -> pa.Schema:
    """The columns of a record, with field ids in their metadata where it has them. Raises ValueError or KeyError."""
    type_ = _type(schema)
    if not pa.types.is_struct(type_):
        raise ValueError("its rows are no records")
    return pa.schema(list(type_))


def _type(schema: Any) -> pa.DataType:
    match schema:
        case str():
            return _PLAIN[schema]
        case [*branches]:
            others = [branch for branch in branches if branch != "null"]
            if len(others) != 1:
                raise ValueError(f"a union of {len(others)} types is no column")
            return _type(others[0])
        case {"type": "record", "fields": fields}:
            return pa.struct([_field(field["name"], field, field["type"]) for field in fields])
        case {"type": "array", "logicalType": "map", "items": {"fields": [key, value]}}:
            return pa.map_(_field("key", key, key["type"]), _field("value", value, value["type"]))
        case {"type": "array", "items": items}:
            return pa.list_(_field("element", schema, items, "element-id"))
        case {"type": "map", "values": values}:
            return pa.map_(_field("key", schema, "string", "key-id"), _field("value", schema, values, "value-id"))
        case {"type": "enum"}:
            return pa.string()
        case {"type": dict() | list() as inner}:
            return _type(inner)
    return _logical(schema)


def _logical(schema: Mapping[str, Any]) -> pa.DataType:
    logical = str(schema.get("logicalType"))
    if logical == "decimal":
        return pa.decimal128(schema["precision"], schema.get("scale", 0))
    if logical in _UNITS:
        return pa.timestamp(_UNITS[logical], "UTC" if schema.get("adjust-to-utc", True) else None)
    if logical in _LOGICAL:
        return _LOGICAL[logical]
    return pa.binary(schema["size"]) if schema["type"] == "fixed" else _PLAIN[schema["type"]]


def _field(name: str, holder: Mapping[str, Any], type_: Any, id_key: str = "field-id") -> pa.Field:
    metadata = {"field-id": str(holder[id_key])} if id_key in holder else None
    nullable = isinstance(type_, list) and "null" in type_
    return pa.field(name, _type(type_), nullable=nullable, metadata=metadata)
