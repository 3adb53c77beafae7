"""The limit on the nesting of types: rows pass between Spark and Python as Arrow, which reads up to 64 levels."""

from __future__ import annotations

from sqlext.errors import UnsupportedError
from sqlext.spec.schema import Schema, nested_fields
from sqlext.spec.types import MapType, Type

# Leaves room for the structs that some queries put around a row.
MAX_LEVELS = 60


def levels(type: Type) -> int:
    """The depth of `type` in Arrow: one level for each struct and list, two for a map; 0 for a primitive."""
    deepest = 0
    left = [(type, 0)]
    while left:
        one, above = left.pop()
        inside = [field.type for field in nested_fields(one)]
        here = above + (2 if isinstance(one, MapType) else 1 if inside else 0)
        deepest = max(deepest, here)
        left += [(part, here) for part in inside]
    return deepest


def require_levels(schema: Schema, before: Schema | None = None) -> None:
    """Raises UnsupportedError TOO_DEEPLY_NESTED for a column with more than `MAX_LEVELS` levels.

    A column that is as deep in `before`, the schema that `schema` replaces, passes: another engine may have made it.
    """
    for field in schema.fields:
        was = None if before is None else before.field_or_none(field.id)
        if levels(field.type) > max(MAX_LEVELS, 0 if was is None else levels(was.type)):
            raise too_deep(field.name)


def too_deep(column: str) -> UnsupportedError:
    """The error for a column with more than `MAX_LEVELS` levels."""
    return UnsupportedError(
        "TOO_DEEPLY_NESTED",
        what=f"The type of column {column}",
        limit=f"{MAX_LEVELS} levels, of which a map takes two",
        otherwise="",
    )
