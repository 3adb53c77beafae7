"""Which field the columns of a file without field ids are (spec: Column Projection; Appendix C, Name Mapping)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlext.errors import AnalysisError
from sqlext.spec.schema import Schema
from sqlext.spec.types import ListType, MapType, NestedField, StructType, Type

NAME_MAPPING_PROPERTY = "schema.name-mapping.default"


@dataclass(frozen=True, slots=True)
class MappedField:
    """A field with the names it has in files; `field_id` None says that columns of the names are no field's."""

    field_id: int | None
    names: tuple[str, ...]
    fields: tuple[MappedField, ...] = ()

    def to_json(self) -> dict[str, Any]:
        obj: dict[str, Any] = {} if self.field_id is None else {"field-id": self.field_id}
        obj["names"] = list(self.names)
        if self.fields:
            obj["fields"] = [field.to_json() for field in self.fields]
        return obj


@dataclass(frozen=True, slots=True)
class NameMapping:
    """The columns of a table; lists have a field named `element`, maps `key` and `value`."""

    fields: tuple[MappedField, ...]

    @classmethod
    def of_table(cls, properties: Mapping[str, str]) -> NameMapping | None:
        """The mapping a table's property holds, None without one. `AnalysisError` INVALID_TABLE_PROPERTY."""
        text = properties.get(NAME_MAPPING_PROPERTY)
        if text is None:
            return None
        try:
            return cls(tuple(_field_from_json(obj) for obj in _array(json.loads(text))))
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise AnalysisError(
                "INVALID_TABLE_PROPERTY",
                name=NAME_MAPPING_PROPERTY,
                value=text[:100],
                reason=f"it is no name mapping: {error}",
                default="none",
            ) from None

    @classmethod
    def of_schema(cls, schema: Schema) -> NameMapping:
        """Every field under the name it has."""
        return cls(_mapped(schema.fields))

    def to_text(self) -> str:
        """The property's text."""
        return json.dumps([field.to_json() for field in self.fields], ensure_ascii=False, separators=(",", ":"))

    def with_schema(self, schema: Schema) -> NameMapping:
        """The mapping with the names that a changed schema adds; a name belongs to the field that has it now."""
        return NameMapping(_united(self.fields, _mapped(schema.fields)))


def names_in_file(mapping: NameMapping, columns: FileColumns) -> dict[int, str]:
    """The name that the file has for each mapped field, nested ones included; fields it lacks are left out."""
    found: dict[int, str] = {}
    _find(mapping.fields, columns, found)
    return found


@dataclass(frozen=True, slots=True)
class FileColumns:
    """The columns of a file by name, each with those inside it; a list holds `element`, a map `key` and `value`."""

    inside: Mapping[str, FileColumns]


def _find(fields: Iterable[MappedField], columns: FileColumns, found: dict[int, str]) -> None:
    for field in fields:
        name = next((name for name in field.names if name in columns.inside), None)
        if name is None:
            continue
        if field.field_id is not None:
            found[field.field_id] = name
        _find(field.fields, columns.inside[name], found)


def _field_from_json(obj: Mapping[str, Any]) -> MappedField:
    field_id = obj.get("field-id")
    if field_id is not None and type(field_id) is not int:
        raise ValueError(f"{field_id!r} is no field id")
    names = tuple(str(name) for name in _array(obj.get("names", [])))
    return MappedField(field_id, names, tuple(_field_from_json(inner) for inner in _array(obj.get("fields", []))))


def _array(obj: Any) -> Sequence[Any]:
    if not isinstance(obj, list):
        raise ValueError("a list is missing")
    return obj


def _mapped(fields: Iterable[NestedField]) -> tuple[MappedField, ...]:
    return tuple(MappedField(field.id, (field.name,), _mapped(_children(field.type))) for field in fields)


def _children(type_: Type) -> tuple[NestedField, ...]:
    match type_:
        case StructType(fields=fields):
            return fields
        case ListType():
            return (NestedField(type_.element_id, "element", type_.element),)
        case MapType():
            return (
                NestedField(type_.key_id, "key", type_.key, True),
                NestedField(type_.value_id, "value", type_.value),
            )
    return ()


def _united(old: Iterable[MappedField], new: Iterable[MappedField]) -> tuple[MappedField, ...]:
    current = {field.field_id: field for field in new}
    taken = {name for field in current.values() for name in field.names}
    united = []
    for field in old:
        now = current.pop(field.field_id, None)
        if now is None:
            united.append(MappedField(field.field_id, tuple(n for n in field.names if n not in taken), field.fields))
            continue
        others = tuple(name for name in field.names if name not in taken)
        united.append(MappedField(field.field_id, (*others, *now.names), _united(field.fields, now.fields)))
    return (*united, *current.values())
