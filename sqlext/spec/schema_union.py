"""Schema changes that let a table store rows of another schema (spec: Schema Evolution)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sqlext.spec.schema import Schema
from sqlext.spec.schema_change import AddColumn, Path, SchemaChange, WidenColumn
from sqlext.spec.type_promotion import is_promotion
from sqlext.spec.types import DateType, ListType, MapType, NestedField, StructType, Type


def union_changes(
    fields: Iterable[NestedField],
    incoming: Iterable[NestedField],
    format_version: int,
    *,
    case_sensitive: bool = False,
    path: Path = (),
) -> Iterator[SchemaChange]:
    """Changes of `fields`, which are at `path`: a new column for each field that only `incoming` has, and a type
    promotion for each that is wider in `incoming`.

    Fields are matched by name at any depth. New columns are optional, and last among their siblings. Other differences
    are left to the store assignment of a write.
    """
    known = Schema(tuple(fields))
    for field in incoming:
        before = known.column(field.name, case_sensitive)
        if before is None:
            yield AddColumn((*path, field.name), optional(field.type), doc=field.doc)
        else:
            yield from _type_changes(before.type, field.type, format_version, case_sensitive, (*path, before.name))


def _type_changes(
    before: Type, incoming: Type, format_version: int, case_sensitive: bool, path: Path
) -> Iterator[SchemaChange]:
    match before, incoming:
        case StructType(), StructType():
            yield from union_changes(
                before.fields, incoming.fields, format_version, case_sensitive=case_sensitive, path=path
            )
        case ListType(), ListType():
            yield from _type_changes(
                before.element, incoming.element, format_version, case_sensitive, (*path, "element")
            )
        case MapType(), MapType():
            yield from _type_changes(before.value, incoming.value, format_version, case_sensitive, (*path, "value"))
        case _:
            # A timestamp that is written to a date column does not change its type.
            widens = is_promotion(before, incoming, format_version) and not isinstance(before, DateType)
            if widens and before != incoming:
                yield WidenColumn(path, incoming)


def optional(type: Type) -> Type:
    """The type with all nested fields optional, except map keys."""
    match type:
        case StructType(fields=fields):
            return StructType(tuple(replace(one, type=optional(one.type), required=False) for one in fields))
        case ListType():
            return replace(type, element=optional(type.element), element_required=False)
        case MapType():
            return replace(type, key=optional(type.key), value=optional(type.value), value_required=False)
    return type
