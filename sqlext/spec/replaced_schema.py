"""The ids that the columns of a replaced table get (spec: Schemas): those that its columns had before."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from sqlext.spec.schema import Schema, ids_by_level, nested_fields, with_ids
from sqlext.spec.type_promotion import is_promotion
from sqlext.spec.types import NestedField, Type, is_primitive


def assign_kept_ids(schema: Schema, before: Schema, last_id: int, format_version: int) -> Schema:
    """The columns with the ids that those of the same names have in `before`, nested ones too; others from `last_id`.

    So a reader that knows the table by the ids of older snapshots, or of statistics, knows it still. A column keeps its
    id where files with the old type may be read as the new one: of a struct, list or map as long as it is one.
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
