"""Name mappings: field ids for the columns of files without ids (spec: Column Projection; Appendix C, Name Mapping)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlext.errors import AnalysisError
from sqlext.spec.schema import Schema
from sqlext.spec.types import ListType, MapType, NestedField, StructType, Type

NAME_MAPPING_PROPERTY = "schema.name-mapping.default"


@dataclass(frozen=True, slots=True)
class MappedField:
    """A field with its names in files; columns with the names of a field whose `field_id` is None are ignored."""

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
    """The mapped columns of a table; a list has a child `element`, a map `key` and `value`."""

    fields: tuple[MappedField, ...]

    @classmethod
    def of_table(cls, properties: Mapping[str, str]) -> NameMapping | None:
        """The mapping in the property `schema.name-mapping.default`, None if it is not set.

        Raises AnalysisError INVALID_TABLE_PROPERTY for a text that is not a name mapping.
        """
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
        """The mapping of each field's current name to its id."""
        return cls(_mapped(schema.fields))

    def to_text(self) -> str:
        """The mapping as the JSON text of the property."""
        return json.dumps([field.to_json() for field in self.fields], ensure_ascii=False, separators=(",", ":"))

    def with_changes(self, before: Schema, after: Schema) -> NameMapping:
        """The mapping with the names that columns got between the schemas `before` and `after`; old names remain.

        A name that is mapped to a sibling stays with the sibling, since older files use it so: a column that is
        dropped and added again shows no old values, and two columns that swap names keep their values.
        """
        return NameMapping(_changed(self.fields, _mapped(after.fields), before))


def names_in_file(mapping: NameMapping, columns: FileColumns) -> dict[int, str]:
    """The name of each mapped field in a file with `columns`, by field id; without the fields that the file lacks."""
    found: dict[int, str] = {}
    _find(mapping.fields, columns, found)
    return found


@dataclass(frozen=True, slots=True)
class FileColumns:
    """The columns of a file by name, each with its children: `element` of a list, `key` and `value` of a map."""

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


def _changed(old: Sequence[MappedField], new: Iterable[MappedField], before: Schema) -> tuple[MappedField, ...]:
    now = {field.field_id: field for field in new}
    taken = {name for field in old for name in field.names}
    changed = []
    for field in old:
        current = now.pop(field.field_id, None)
        if current is None:
            changed.append(field)
            continue
        names = (*field.names, *_fresh(current, before, taken))
        changed.append(MappedField(field.field_id, names, _changed(field.fields, current.fields, before)))
    added = (field for field in now.values() if _is_added(field, before))
    return (*changed, *(MappedField(one.field_id, _fresh(one, before, taken), one.fields) for one in added))


def _fresh(field: MappedField, before: Schema, taken: Collection[str]) -> tuple[str, ...]:
    """The names of `field` that are new since `before` and mapped to no sibling."""
    known = None if field.field_id is None else before.field_or_none(field.field_id)
    return tuple(name for name in field.names if name not in taken and (known is None or known.name != name))


def _is_added(field: MappedField, before: Schema) -> bool:
    return field.field_id is not None and before.field_or_none(field.field_id) is None
