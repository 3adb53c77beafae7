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
    """The columns of a table, with ids that never change meaning.

    `identifier_field_ids` are the fields that identify a row: the primary key of SQL. Two schemas are equal when their
    columns, ids and `schema_id` are. (No slots: the look-up tables are made once, on first use.)
    """

    fields: tuple[NestedField, ...]
    schema_id: int = 0
    identifier_field_ids: tuple[int, ...] = ()

    def field(self, id: int) -> NestedField:
        """The field of that id, at any depth; list elements and map keys and values are fields too. Raises KeyError."""
        return self._fields_by_id[id]

    def field_or_none(self, id: int) -> NestedField | None:
        """The field of that id, or None."""
        return self._fields_by_id.get(id)

    def column(self, name: str, case_sensitive: bool = True) -> NestedField | None:
        """The column of that name, or None. Dots are characters like any other: no name is a path.

        Raises AnalysisError when the name is ambiguous without regard to case.
        """
        exact = self._columns_by_name.get(name)
        return exact if exact is not None or case_sensitive else _alike(self._columns_by_lower_name, name)

    def field_at(self, path: FieldPath, case_sensitive: bool = True) -> NestedField | None:
        """The field at the end of a path of names, or None: a column's, then those of fields inside it.

        Elements, keys and values have the format's names. Raises AnalysisError as `column`.
        """
        field = self.column(path[0], case_sensitive)
        for name in path[1:]:
            if field is None:
                return None
            field = Schema(nested_fields(field.type)).column(name, case_sensitive)
        return field

    def column_name(self, id: int) -> str:
        """The names down to the field of that id, joined by dots. Raises KeyError.

        It is what messages and Iceberg's texts say, such as keys of properties and names of partition fields. It does
        not identify a field: the column `a.b` and the field `b` of a struct `a` have the same.
        """
        return ".".join(self.column_path(id))

    @property
    def field_ids(self) -> tuple[int, ...]:
        """Every id, each field before those inside it; the same order in schemas of the same shape."""
        return tuple(self._fields_by_id)

    def column_path(self, id: int) -> FieldPath:
        """The names down to the field of that id. Raises KeyError."""
        above = [ancestor.name for ancestor in self._ancestors(id)]
        return (*reversed(above), self.field(id).name)

    @property
    def highest_field_id(self) -> int:
        """The highest id in use; 0 for none."""
        return max(self._fields_by_id, default=0)

    @property
    def identifier_fields(self) -> tuple[NestedField, ...]:
        """The identifier fields, in the order of their ids' declaration."""
        return tuple(self.field(id) for id in self.identifier_field_ids)

    def is_reachable(self, id: int) -> bool:
        """Whether each row has at most one value of the field: it lies in no list and no map."""
        return all(isinstance(ancestor.type, StructType) for ancestor in self._ancestors(id))

    def select(self, ids: Iterable[int]) -> Schema:
        """The columns and nested fields of these ids, each with the structs above and everything below it.

        Identifier fields that are not selected are dropped from the key. Ids that the schema lacks are ignored.
        """
        wanted = frozenset(ids)
        fields = tuple(_selected_fields(self.fields, wanted))
        selected = Schema(fields, self.schema_id)
        kept = tuple(id for id in self.identifier_field_ids if selected.field_or_none(id) is not None)
        return replace(selected, identifier_field_ids=kept)

    def same_columns(self, other: Schema) -> bool:
        """Whether columns, ids and identifier fields are the same, whatever the schema ids."""
        return self.fields == other.fields and set(self.identifier_field_ids) == set(other.identifier_field_ids)

    def validate_identifier_fields(self) -> None:
        """Raises AnalysisError unless every identifier field may identify a row (spec: Identifier Field IDs)."""
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
        """Raises ValueError or KeyError for what is not a schema."""
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
            return "the schema has no such field"
        if not is_primitive(field.type):
            return f"its type {field.type} is nested"
        if isinstance(field.type, FloatType | DoubleType):
            return f"values of type {field.type} have no exact equality"
        ancestors = list(self._ancestors(id))
        for ancestor in ancestors:
            if not isinstance(ancestor.type, StructType):
                return f"it lies inside the {type(ancestor.type).__name__.removesuffix('Type').lower()} {ancestor.name}"
        optional = next((one.name for one in (field, *ancestors) if not one.required), None)
        return None if optional is None else f"{optional} is optional"

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
    """The same columns with ids from `start`: first all top-level columns, then the nested fields of each.

    `identifier_field_ids` follow their fields.
    """
    fresh = count(start)
    return with_ids(schema, {id: next(fresh) for id in ids_by_level(schema.fields)})


def with_ids(schema: Schema, ids: Mapping[int, int]) -> Schema:
    """The columns, each field with the new id that is given for its own."""
    fields = tuple(_with_id(field, ids) for field in schema.fields)
    return Schema(fields, schema.schema_id, tuple(ids[id] for id in schema.identifier_field_ids))


def ids_by_level(fields: tuple[NestedField, ...]) -> Iterator[int]:
    """Those of the fields first, then those inside each."""
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
    """The fields directly inside a type; those of a list or map under the format's names."""
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
