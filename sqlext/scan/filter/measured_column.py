"""Columns with metrics, and the check of their counts (spec: "Data file fields").

Counts may be missing, and some writers count something other than rows, such as only values in non-null structs. Counts
that contradict each other or the record count of the file are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlext.spec.schema import Schema
from sqlext.spec.types import DoubleType, FloatType, NestedField, StructType, Type, is_primitive


@dataclass(frozen=True, slots=True)
class MetricsColumn:
    """A primitive field with one value, or null, in each row: a column, or a field nested in structs only.

    With `may_lack_struct` a struct around the field may be null; writers count such a row as null, or not at all.
    """

    type: Type
    may_lack_struct: bool = False

    @property
    def has_nan(self) -> bool:
        return isinstance(self.type, (FloatType, DoubleType))


@dataclass(frozen=True, slots=True)
class RowCounts:
    """The number of rows of a file in which a column is null, and in which it is NaN; None if unknown."""

    nulls: int | None = None
    nans: int | None = None


def row_counts(
    column: MetricsColumn, records: int, values: int | None, nulls: int | None, nans: int | None
) -> RowCounts:
    """The counts that are certain by the metrics of a file of `records` rows; negative `records` are unknown."""
    unknown = RowCounts(nans=None if column.has_nan else 0)
    if records < 0 or (values is not None and values != records):
        return unknown
    if nulls is not None and not 0 <= nulls <= records:
        nulls = None
    if not column.has_nan:
        nans = 0
    elif nans is not None and not 0 <= nans <= records:
        nans = None
    if (nulls or 0) + (nans or 0) > records:
        return unknown
    if column.may_lack_struct and nulls != records:
        nulls = None
    return RowCounts(nulls, nans)


def metrics_columns(schemas: Iterable[Schema]) -> dict[int, MetricsColumn]:
    """The columns with metrics by field id, from the first schema that has each; without fields in lists and maps."""
    columns: dict[int, MetricsColumn] = {}
    for schema in schemas:
        for field_id, column in _of_fields(schema.fields, may_lack_struct=False):
            columns.setdefault(field_id, column)
    return columns


def _of_fields(fields: Iterable[NestedField], *, may_lack_struct: bool) -> Iterator[tuple[int, MetricsColumn]]:
    for field in fields:
        if isinstance(field.type, StructType):
            yield from _of_fields(field.type.fields, may_lack_struct=may_lack_struct or not field.required)
        elif is_primitive(field.type):
            yield field.id, MetricsColumn(field.type, may_lack_struct)
