"""Structs whose fields are not those that they were made with, which Spark 4.0 must read with care."""

from __future__ import annotations

from collections.abc import Iterator, Set

from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.schema import Schema
from sqlext.spec.types import ListType, MapType, NestedField, StructType, Type


def evolved_structs(metadata: TableMetadata, schema: Schema) -> tuple[list[str], list[str]]:
    """Names of the columns of `schema` in which a struct got fields after it was made, and of those in which a struct
    has none of the fields that it was made with.

    A data file that is older than the fields has the struct without them. What a struct was made with is known from the
    oldest of the table's schemas that has it.
    """
    if len(metadata.schemas) == 1:
        return [], []
    made_with: dict[int, Set[int]] = {}
    for one in sorted(metadata.schemas, key=lambda known: known.schema_id):
        for holder, fields in _structs(one.fields):
            made_with.setdefault(holder, fields)
    grown, renewed = [], []
    for column in schema.fields:
        found = [(fields, made_with.get(holder, fields)) for holder, fields in _structs((column,))]
        if any(first and fields.isdisjoint(first) for fields, first in found):
            renewed.append(column.name)
        elif any(fields - first for fields, first in found):
            grown.append(column.name)
    return grown, renewed


def _structs(fields: tuple[NestedField, ...]) -> Iterator[tuple[int, Set[int]]]:
    """Each struct in the fields, at any depth: the id of what has it as its type, and the ids of its fields."""
    for field in fields:
        yield from _inside(field.id, field.type)


def _inside(holder: int, data_type: Type) -> Iterator[tuple[int, Set[int]]]:
    match data_type:
        case StructType(fields=fields):
            yield holder, {field.id for field in fields}
            yield from _structs(fields)
        case ListType():
            yield from _inside(data_type.element_id, data_type.element)
        case MapType():
            yield from _inside(data_type.key_id, data_type.key)
            yield from _inside(data_type.value_id, data_type.value)
