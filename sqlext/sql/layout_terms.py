"""Partition and sort fields as SQL text."""

from __future__ import annotations

from collections.abc import Mapping

from sqlext.errors import UnsupportedError
from sqlext.spec.partition_spec import PartitionField
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import SortField
from sqlext.spec.transform import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    YearTransform,
)
from sqlext.sql.tokens.quoting import quote_identifier, quote_name

_PERIODS: Mapping[type, str] = {
    YearTransform: "years",
    MonthTransform: "months",
    DayTransform: "days",
    HourTransform: "hours",
}
# Suffixes of the partition field names that Iceberg derives if the statement names none.
_DERIVED_SUFFIXES: Mapping[type, str] = {
    YearTransform: "_year",
    MonthTransform: "_month",
    DayTransform: "_day",
    HourTransform: "_hour",
    BucketTransform: "_bucket",
    TruncateTransform: "_trunc",
    IdentityTransform: "",
}


def source_name(schema: Schema, id: int) -> str:
    """The name of a column, as a path."""
    return quote_name(schema.column_path(id))


def partition_term(schema: Schema, field: PartitionField) -> str:
    """A partition field as in PARTITIONED BY. Raises UnsupportedError UNSUPPORTED_TRANSFORM."""
    term = _term(schema, field.transform, field.source_id)
    if field.name == schema.column_name(field.source_id) + _DERIVED_SUFFIXES[type(field.transform)]:
        return term
    return f"{term} AS {quote_identifier(field.name)}"


def sort_term(schema: Schema, field: SortField) -> str:
    """A sort field as in ORDERED BY. Raises UnsupportedError UNSUPPORTED_TRANSFORM."""
    nulls = "NULLS FIRST" if field.null_order == "nulls-first" else "NULLS LAST"
    return f"{_term(schema, field.transform, field.source_id)} {field.direction.upper()} {nulls}"


def _term(schema: Schema, transform: Transform, source_id: int) -> str:
    column = source_name(schema, source_id)
    match transform:
        case IdentityTransform():
            return column
        case BucketTransform():
            return f"bucket({transform.n}, {column})"
        case TruncateTransform():
            return f"truncate({transform.width}, {column})"
    if type(transform) not in _PERIODS:
        raise UnsupportedError("UNSUPPORTED_TRANSFORM", transform=transform, column=schema.column_name(source_id))
    return f"{_PERIODS[type(transform)]}({column})"
