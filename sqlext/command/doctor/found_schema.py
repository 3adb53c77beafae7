"""The schema of a table by the footers of its data files.

Engines write the schema of the rows rather than the table's: Spark says NOT NULL of a column if a query's plan has no
null in it. So a column counts as NOT NULL only if no file contradicts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from sqlext.spec.manifests.row_lineage import LAST_UPDATED, ROW_ID
from sqlext.spec.name_mapping import NameMapping
from sqlext.spec.schema import Schema
from sqlext.spec.types import ListType, MapType, NestedField, StructType, Type
from sqlext.write.existing.existing_file import FileHead
from sqlext.write.existing.existing_metrics import column_range
from sqlext.write.existing.existing_schema import MatchedLeaf, SchemaMismatch, match

_LINEAGE = frozenset({ROW_ID.id, LAST_UPDATED.id})


def found_schema(schemas: Sequence[Schema], heads: Iterable[FileHead]) -> Schema:
    """The newest of the schemas in the footers, oldest first, with what is NOT NULL and the key by all files."""
    newest = _without_lineage(max(reversed(schemas), key=lambda one: one.schema_id))
    required = {id for id in newest.field_ids if newest.field(id).required}
    for schema in schemas:
        required -= {id for id in schema.field_ids if not schema.field(id).required}
    nullable = with_required(newest, ())
    nested = {id: inside for id in newest.field_ids if (inside := _inside(newest.field(id).type))}
    for head in heads:
        required -= _contradicted(nullable, head, required, nested)
    found = with_required(newest, required)
    key = newest.identifier_field_ids
    return replace(found, identifier_field_ids=key if set(key) <= required else ())


def _without_lineage(schema: Schema) -> Schema:
    """Without the columns of files to which rows were moved with their ids (spec: Row Lineage)."""
    return replace(schema, fields=tuple(field for field in schema.fields if field.id not in _LINEAGE))


def with_required(schema: Schema, required: Collection[int]) -> Schema:
    """The schema in which the fields `required`, at any depth, are NOT NULL, and no others."""
    return replace(schema, fields=tuple(_field(field, required) for field in schema.fields), identifier_field_ids=())


def _field(field: NestedField, required: Collection[int]) -> NestedField:
    return replace(field, type=_type(field.type, required), required=field.id in required)


def _type(type: Type, required: Collection[int]) -> Type:
    match type:
        case StructType(fields=fields):
            return StructType(tuple(_field(field, required) for field in fields))
        case ListType(element_id=id, element=element):
            return replace(type, element=_type(element, required), element_required=id in required)
        case MapType(key=key, value_id=id, value=value):
            made = replace(type, key=_type(key, required), value=_type(value, required))
            return replace(made, value_required=id in required)
    return type


def _contradicted(
    schema: Schema, head: FileHead, required: Collection[int], nested: Mapping[int, AbstractSet[int]]
) -> set[int]:
    """The required fields that a file has nulls of, does not say that it has none of, or lacks; `nested` are the fields
    inside others."""
    try:
        leaves = match_own(head, schema)
    except SchemaMismatch:
        # The file is left out, with the reason.
        return set()
    there = {leaf.field_id for leaf in leaves}
    there |= {id for id, inside in nested.items() if not inside.isdisjoint(there)}
    lacking = {id for id in required if id not in there and schema.field(id).initial_default is None}
    return lacking | {leaf.field_id for leaf in leaves if leaf.field_id in required and _may_be_null(head, leaf)}


def match_own(head: FileHead, schema: Schema) -> tuple[MatchedLeaf, ...]:
    """The leaves of one of the table's own files. Raises SchemaMismatch."""
    return match(head.schema, schema, NameMapping.of_schema(schema).fields, instants=head.instants, is_own=True)


def _may_be_null(head: FileHead, leaf: MatchedLeaf) -> bool:
    if leaf.repeated or head.footer is None:
        return False
    nulls = column_range(head.footer, leaf).nulls
    return bool(nulls) or (nulls is None and leaf.nullable and head.rows > 0)


def _inside(type: Type) -> set[int]:
    match type:
        case StructType(fields=fields):
            return {id for field in fields for id in (field.id, *_inside(field.type))}
        case ListType(element_id=id, element=element):
            return {id, *_inside(element)}
        case MapType(key_id=key_id, key=key, value_id=value_id, value=value):
            return {key_id, value_id, *_inside(key), *_inside(value)}
    return set()
