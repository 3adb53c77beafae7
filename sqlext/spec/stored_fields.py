"""The fields of a schema that data files contain: all but those of type unknown (spec: Appendix A, Parquet)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlext.errors import UnsupportedError
from sqlext.spec.schema import Schema
from sqlext.spec.types import ListType, MapType, NestedField, StructType, Type, UnknownType

_REASON = "columns of nulls only are in no file, which then would not tell {what}. Name another type"


def stored_schema(schema: Schema) -> Schema:
    """The schema without its fields of type unknown, at any depth."""
    fields = _stored(schema.fields)
    return schema if fields == schema.fields else replace(schema, fields=fields)


def require_storable(schema: Schema) -> None:
    """Raises UnsupportedError UNSUPPORTED_TYPE for a field of type unknown without which a file cannot represent the
    rows: the only field of a table or struct, a list element, a map key or a map value."""
    if schema.fields and not _stored(schema.fields):
        raise _refusal("how many rows there are, without a column of another type")
    for field in schema.fields:
        _require_storable(field.type)


def _require_storable(type: Type) -> None:
    match type:
        case StructType(fields=fields):
            if fields and not _stored(fields):
                raise _refusal("which structs are null, without a field of another type")
            for field in fields:
                _require_storable(field.type)
        case ListType(element=element):
            _require_inside("lists", element)
        case MapType(key=key, value=value):
            _require_inside("maps", key)
            _require_inside("maps", value)


def _require_inside(container: str, type: Type) -> None:
    if isinstance(type, UnknownType):
        raise _refusal(f"how long {container} are")
    _require_storable(type)


def _refusal(what: str) -> UnsupportedError:
    return UnsupportedError("UNSUPPORTED_TYPE", type="VOID", reason=_REASON.format(what=what))


def _stored(fields: Iterable[NestedField]) -> tuple[NestedField, ...]:
    kept = (field for field in fields if not isinstance(field.type, UnknownType))
    return tuple(replace(field, type=_stored_type(field.type)) for field in kept)


def _stored_type(type: Type) -> Type:
    match type:
        case StructType(fields=fields):
            return StructType(_stored(fields))
        case ListType():
            return replace(type, element=_stored_type(type.element))
        case MapType():
            return replace(type, key=_stored_type(type.key), value=_stored_type(type.value))
    return type
