"""Column ids of a replaced table, which keeps the ids of columns that it had before (spec: Schemas)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from sqlext.spec.schema import Schema, ids_by_level, nested_fields, with_ids
from sqlext.spec.type_promotion import is_promotion
from sqlext.spec.types import NestedField, Type, is_primitive


def assign_kept_ids(schema: Schema, before: Schema, last_id: int, format_version: int) -> Schema:
    """`schema` with the ids of the fields of equal paths in `before`; other fields count from `last_id` + 1.

    So older snapshots and statistics remain valid for these fields. A field keeps its id only if files with its old
    type can be read as the new one: a primitive type by promotion, a struct, list or map if it remains one.
    """
    kept: dict[int, int] = {}
    _match(schema.fields, before.fields, format_version, kept)
    fresh = count(last_id + 1)
    return with_ids(schema, {id: kept[id] if id in kept else next(fresh) for id in ids_by_level(schema.fields)})


def _match(
    fields: tuple[NestedField, ...], before: tuple[NestedField, ...], format_version: int, kept: dict[int, int]
) -> None:
    known: Mapping[str, NestedField] = {field.name: field for field in before}
    for field in fields:
        old = known.get(field.name)
        if old is not None and _is_readable(old.type, field.type, format_version):
            kept[field.id] = old.id
            _match(nested_fields(field.type), nested_fields(old.type), format_version, kept)


def _is_readable(before: Type, after: Type, format_version: int) -> bool:
    if is_primitive(before) or is_primitive(after):
        return is_promotion(before, after, format_version)
    return type(before) is type(after)
