"""How deep the types of columns may nest: rows go between Spark and Python as Arrow, whose readers end at 64 levels."""

from __future__ import annotations

from sqlext.errors import UnsupportedError
from sqlext.spec.schema import Schema, nested_fields
from sqlext.spec.types import MapType, Type

# Some queries have a struct or two around a row.
MOST_LEVELS = 60


def levels(type: Type) -> int:
    """How deep Arrow nests the type: a struct and a list take one level, a map two; 0 for a type that is not nested."""
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
    """UnsupportedError TOO_DEEPLY_NESTED for a column whose rows could not be written.

    A column that another engine made so deep stays as it is: `before` is the schema that `schema` was made from.
    """
    for field in schema.fields:
        was = None if before is None else before.field_or_none(field.id)
        if levels(field.type) > max(MOST_LEVELS, 0 if was is None else levels(was.type)):
            raise too_deep(field.name)


def too_deep(column: str) -> UnsupportedError:
    """The refusal of rows with such a column, or of the column itself."""
    return UnsupportedError(
        "TOO_DEEPLY_NESTED",
        what=f"The type of column {column}",
        limit=f"{MOST_LEVELS} levels, of which a map takes two",
        otherwise="",
    )
