"""Features of a schema that need a format version (spec: Appendix E, Version 3)."""

from __future__ import annotations

from sqlext.errors import UnsupportedError
from sqlext.spec.schema import Schema
from sqlext.spec.types import (
    GeospatialType,
    TimestampNanoType,
    TimestamptzNanoType,
    UnknownType,
    VariantType,
)

_VERSION_3_TYPES = (UnknownType, VariantType, TimestampNanoType, TimestamptzNanoType, GeospatialType)


def require_version(schema: Schema, format_version: int) -> None:
    """Raises UnsupportedError FORMAT_VERSION_TOO_LOW for a type or default of a column that needs version 3."""
    if format_version >= 3:
        return
    for id in schema.field_ids:
        field = schema.field(id)
        if isinstance(field.type, _VERSION_3_TYPES):
            raise _too_low(f"The type {field.type} of column {schema.column_name(id)}", format_version)
        if field.initial_default is not None or field.write_default is not None:
            raise _too_low(f"The default of column {schema.column_name(id)}", format_version)


def _too_low(feature: str, format_version: int) -> UnsupportedError:
    return UnsupportedError("FORMAT_VERSION_TOO_LOW", feature=feature, needed=3, version=format_version)
