"""Equality of names, with or without regard to case (Spark: `spark.sql.caseSensitive`)."""

from __future__ import annotations

from collections.abc import Iterable

from sqlext.errors import AnalysisError
from sqlext.spec.field_path import path_text
from sqlext.spec.types import ListType, MapType, NestedField, StructType, Type


def name_key(name: str, case_sensitive: bool) -> str:
    """A key that is equal for two names exactly if the names are."""
    return name if case_sensitive else name.lower()


def require_distinct_names(names: Iterable[str], case_sensitive: bool) -> None:
    """Raises AnalysisError COLUMN_ALREADY_EXISTS for the first name that equals an earlier one."""
    seen: set[str] = set()
    for name in names:
        key = name_key(name, case_sensitive)
        if key in seen:
            raise AnalysisError("COLUMN_ALREADY_EXISTS", column=name)
        seen.add(key)


def require_distinct_fields(fields: Iterable[NestedField], case_sensitive: bool, above: tuple[str, ...] = ()) -> None:
    """Raises AnalysisError COLUMN_ALREADY_EXISTS if siblings at any depth have equal names; `above` is their path."""
    fields = tuple(fields)
    require_distinct_names((path_text((*above, field.name)) for field in fields), case_sensitive)
    for field in fields:
        require_distinct_in_type(field.type, case_sensitive, (*above, field.name))


def require_distinct_in_type(type: Type, case_sensitive: bool, above: tuple[str, ...]) -> None:
    """Raises AnalysisError COLUMN_ALREADY_EXISTS if sibling fields in a struct inside `type` have equal names.

    `above` is the path of the field of that type.
    """
    match type:
        case StructType(fields=fields):
            require_distinct_fields(fields, case_sensitive, above)
        case ListType(element=element):
            require_distinct_in_type(element, case_sensitive, (*above, "element"))
        case MapType(key=key, value=value):
            require_distinct_in_type(key, case_sensitive, (*above, "key"))
            require_distinct_in_type(value, case_sensitive, (*above, "value"))
