"""Whether a newer version of a table is still the one that a change was planned on, with a schema that its rows fit."""

from __future__ import annotations

from sqlext.errors import ValidationConflict
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.schema import Schema
from sqlext.spec.types import NestedField


def require_same_table(planned_on: TableMetadata, current: TableMetadata, name: str) -> None:
    """Raises `ValidationConflict` if `current` has another uuid, or required columns that rows of `planned_on` may
    lack."""
    if current.table_uuid != planned_on.table_uuid:
        reason = "the table was dropped and made anew"
        raise ValidationConflict("CONCURRENT_CHANGE", name=name, reason=reason)
    missing = _new_required_columns(planned_on.schema(), current.schema())
    if missing:
        reason = f"the schema got the required columns {', '.join(missing)}"
        raise ValidationConflict("CONCURRENT_CHANGE", name=name, reason=reason)


def _new_required_columns(before: Schema, after: Schema) -> list[str]:
    """Columns that `after` requires, and that are absent from rows written with `before` or may be null in them."""
    if before is after:
        return []
    return [field.name for field in after.fields if field.required and not _has_value(before, field)]


def _has_value(schema: Schema, field: NestedField) -> bool:
    """Whether each row written with `schema` has a value for the field."""
    known = schema.field_or_none(field.id)
    return field.initial_default is not None if known is None else known.required
