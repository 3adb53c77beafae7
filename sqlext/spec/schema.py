"""Schemas with field ids, and look-ups by id and by name (spec: Schemas and Data Types)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import Any

from sqlext.errors import AnalysisError
from sqlext.spec.field_path import FieldPath
from sqlext.spec.type_json import field_from_json, field_to_json
from sqlext.spec.types import (
    DoubleType,
    FloatType,
    ListType,
    MapType,
    NestedField,
    StructType,
    Type,
    is_primitive,
)


@dataclass(frozen=True)
class Schema:
    """The columns of a table. `identifier_field_ids` are its primary key.

    Schemas are equal if their fields, identifier field ids and `schema_id` are. (No slots: look-up tables are cached.)
    """

    fields: tuple[NestedField, ...]
    schema_id: int = 0
    identifier_field_ids: tuple[int, ...] = ()

    def field(self, id: int) -> NestedField:
        """The field of that id at any depth, also a list element, map key or map value. Raises KeyError."""
        return self._fields_by_id[id]

    def field_or_none(self, id: int) -> NestedField | None:
        """The field of that id, or None."""
        return self._fields_by_id.get(id)

    def column(self, name: str, case_sensitive: bool = True) -> NestedField | None:
        """The column of that name, or None. A name with dots is not a path.

        Raises AnalysisError AMBIGUOUS_REFERENCE if, without regard to case, several columns but none exactly match.
        """
        exact = self._columns_by_name.get(name)
        return exact if exact is not None or case_sensitive else _alike(self._columns_by_lower_name, name)

    def field_at(self, path: FieldPath, case_sensitive: bool = True) -> NestedField | None:
        """The field at a path, or None. A list's child is named `element`, a map's `key` and `value`.

        Raises AnalysisError AMBIGUOUS_REFERENCE as `column` does.
        """
        field = self.column(path[0], case_sensitive)
        for name in path[1:]:
            if field is None:
                return None
            field = Schema(nested_fields(field.type)).column(name, case_sensitive)
        return field

    def column_name(self, id: int) -> str:
        """The path of the field of that id, joined by dots as in messages, property keys and partition field names.

        It does not identify a field: a column `a.b` and the field `b` of a struct `a` share it. Raises KeyError.
        """
        return ".".join(self.column_path(id))

    @property
    def field_ids(self) -> tuple[int, ...]:
        """Ids of all fields at any depth, parents before children; schemas of one shape have one order."""
        return tuple(self._fields_by_id)

    def column_path(self, id: int) -> FieldPath:
        """The path of the field of that id. Raises KeyError."""
        above = [ancestor.name for ancestor in self._ancestors(id)]
        return (*reversed(above), self.field(id).name)

    @property
    def highest_field_id(self) -> int:
        """The highest id in use; 0 for none."""
        return max(self._fields_by_id, default=0)

    @property
    def identifier_fields(self) -> tuple[NestedField, ...]:
        """The identifier fields, in the order of `identifier_field_ids`. Raises KeyError."""
        return tuple(self.field(id) for id in self.identifier_field_ids)

    def is_reachable(self, id: int) -> bool:
        """Whether the field is nested in structs only, so that a row has at most one value of it."""
        return all(isinstance(ancestor.type, StructType) for ancestor in self._ancestors(id))

    def select(self, ids: Iterable[int]) -> Schema:
        """The schema of the fields of `ids`, each with its ancestors and all of its descendants.

        Identifier fields that are not selected leave the key. Ids that the schema lacks are ignored.
        """
        wanted = frozenset(ids)
        fields = tuple(_selected_fields(self.fields, wanted))
        selected = Schema(fields, self.schema_id)
        kept = tuple(id for id in self.identifier_field_ids if selected.field_or_none(id) is not None)
        return replace(selected, identifier_field_ids=kept)

    def same_columns(self, other: Schema) -> bool:
        """Whether columns, field ids and identifier fields are equal; the schema ids may differ."""
        return self.fields == other.fields and set(self.identifier_field_ids) == set(other.identifier_field_ids)

    def validate_identifier_fields(self) -> None:
        """Raises AnalysisError INVALID_PRIMARY_KEY for an identifier field that the spec does not allow as one
        (spec: Identifier Field IDs)."""
        for id in self.identifier_field_ids:
            reason = self._identifier_flaw(id)
            if reason is not None:
                name = f"of id {id}" if self.field_or_none(id) is None else self.column_name(id)
                raise AnalysisError("INVALID_PRIMARY_KEY", columns=self._key_text(), reason=f"column {name}: {reason}")

    def to_json(self) -> dict[str, Any]:
        obj: dict[str, Any] = {"type": "struct", "schema-id": self.schema_id}
        if self.identifier_field_ids:
            obj["identifier-field-ids"] = list(self.identifier_field_ids)
        obj["fields"] = [field_to_json(field) for field in self.fields]
        return obj

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> Schema:
        """The schema in `obj`. Raises ValueError or KeyError for an invalid one."""
        return cls(
            fields=tuple(field_from_json(field) for field in obj["fields"]),
            schema_id=obj.get("schema-id", 0),
            identifier_field_ids=tuple(obj.get("identifier-field-ids", ())),
        )

    def _key_text(self) -> str:
        ids = self.identifier_field_ids
        return ", ".join(str(id) if self.field_or_none(id) is None else self.column_name(id) for id in ids)

    def _identifier_flaw(self, id: int) -> str | None:
        field = self.field_or_none(id)
        if field is None:
            return "the schema has no such field. Name one that it has"
        if not is_primitive(field.type):
            return f"its type {field.type} is nested. Choose a column of a simple type"
        if isinstance(field.type, FloatType | DoubleType):
            return f"values of type {field.type} have no exact equality. Choose a column of another type"
        ancestors = list(self._ancestors(id))
        for ancestor in ancestors:
            if not isinstance(ancestor.type, StructType):
                kind = type(ancestor.type).__name__.removesuffix("Type").lower()
                return f"it lies inside the {kind} {ancestor.name}. Choose a column outside of it"
        optional = next((one.name for one in (field, *ancestors) if not one.required), None)
        way_out = "ALTER TABLE … ADD PRIMARY KEY makes it required"
        return None if optional is None else f"{optional} is optional. {way_out}"

    def _ancestors(self, id: int) -> Iterator[NestedField]:
        parent = self._parents.get(id)
        while parent is not None:
            yield self.field(parent)
            parent = self._parents.get(parent)

    @cached_property
    def _fields_by_id(self) -> dict[int, NestedField]:
        return {field.id: field for field, _ in self._walk}

    @cached_property
    def _columns_by_name(self) -> dict[str, NestedField]:
        return {field.name: field for field in reversed(self.fields)}

    @cached_property
    def _columns_by_lower_name(self) -> dict[str, list[NestedField]]:
        by_name: dict[str, list[NestedField]] = {}
        for field in self.fields:
            by_name.setdefault(field.name.lower(), []).append(field)
        return by_name

    @cached_property
    def _parents(self) -> dict[int, int]:
        return {field.id: parent for field, parent in self._walk if parent is not None}

    @cached_property
    def _walk(self) -> list[tuple[NestedField, int | None]]:
        return list(_walk(self.fields, None))


def assign_fresh_ids(schema: Schema, start: int = 1) -> Schema:
    """`schema` with ids that count from `start`: first of all top-level columns, then of the nested fields of each."""
    fresh = count(start)
    return with_ids(schema, {id: next(fresh) for id in ids_by_level(schema.fields)})


def with_ids(schema: Schema, ids: Mapping[int, int]) -> Schema:
    """`schema` with each field id, also of identifier fields, replaced by its value in `ids`. Raises KeyError."""
    fields = tuple(_with_id(field, ids) for field in schema.fields)
    return Schema(fields, schema.schema_id, tuple(ids[id] for id in schema.identifier_field_ids))


def ids_by_level(fields: tuple[NestedField, ...]) -> Iterator[int]:
    """The ids of `fields`, then of the fields nested in each of them in turn."""
    yield from (field.id for field in fields)
    for field in fields:
        yield from ids_by_level(nested_fields(field.type))


def _with_id(field: NestedField, ids: Mapping[int, int]) -> NestedField:
    return replace(field, id=ids[field.id], type=_type_with_ids(field.type, ids))


def _type_with_ids(type: Type, ids: Mapping[int, int]) -> Type:
    match type:
        case StructType(fields=fields):
            return StructType(tuple(_with_id(field, ids) for field in fields))
        case ListType():
            return replace(type, element_id=ids[type.element_id], element=_type_with_ids(type.element, ids))
        case MapType():
            key, value = _type_with_ids(type.key, ids), _type_with_ids(type.value, ids)
            return replace(type, key_id=ids[type.key_id], key=key, value_id=ids[type.value_id], value=value)
    return type


def nested_fields(type: Type) -> tuple[NestedField, ...]:
    """The child fields of a type: `element` of a list, `key` and `value` of a map; none of a primitive."""
    match type:
        case StructType(fields=fields):
            return fields
        case ListType():
            return (NestedField(type.element_id, "element", type.element, type.element_required),)
        case MapType():
            return (
                NestedField(type.key_id, "key", type.key, True),
                NestedField(type.value_id, "value", type.value, type.value_required),
            )
    return ()


def _walk(fields: Iterable[NestedField], parent: int | None) -> Iterator[tuple[NestedField, int | None]]:
    for field in fields:
        yield field, parent
        yield from _walk(nested_fields(field.type), field.id)


def _alike(by_lower_name: Mapping[str, Sequence[NestedField]], name: str) -> NestedField | None:
    alike = by_lower_name.get(name.lower(), ())
    if len(alike) > 1:
        names = ", ".join(field.name for field in alike)
        raise AnalysisError("AMBIGUOUS_REFERENCE", name=name, candidates=names)
    return alike[0] if alike else None


def _selected_fields(fields: Iterable[NestedField], wanted: frozenset[int]) -> Iterator[NestedField]:
    for field in fields:
        selected = _selected_type(field.id, field.type, wanted)
        if selected is not None:
            yield field if selected is field.type else replace(field, type=selected)


def _selected_type(id: int, type: Type, wanted: frozenset[int]) -> Type | None:
    if id in wanted:
        return type
    match type:
        case StructType(fields=fields):
            selected = tuple(_selected_fields(fields, wanted))
            return StructType(selected) if selected else None
        case ListType():
            element = _selected_type(type.element_id, type.element, wanted)
            return None if element is None else replace(type, element=element)
        case MapType():
            value = _selected_type(type.value_id, type.value, wanted)
            if value is None and type.key_id not in wanted:
                return None
            return replace(type, value=type.value if value is None else value)
    return None
