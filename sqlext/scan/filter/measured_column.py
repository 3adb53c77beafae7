"""Columns that a file's metrics are about, and how far their counts can be believed (spec: "Data file fields").

Counts may be absent, and foreign writers have made them of something else than rows: of values inside structs that are
not null, of a footer that lacks them, of nothing. What contradicts itself, or the file's number of rows, says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlext.spec.schema import Schema
from sqlext.spec.types import DoubleType, FloatType, NestedField, StructType, Type, is_primitive


@dataclass(frozen=True, slots=True)
class MeasuredColumn:
    """A primitive column of one value per row, null too: a field of the table, or of structs in it.

    `may_lack_struct`: a struct around it may be null. Writers count such a row as a null of the field, or not at all.
    """

    type: Type
    may_lack_struct: bool = False

    @property
    def has_nan(self) -> bool:
        return isinstance(self.type, (FloatType, DoubleType))


@dataclass(frozen=True, slots=True)
class RowCounts:
    """In how many rows of a file a column is null, and in how many NaN; None: not known."""

    nulls: int | None = None
    nans: int | None = None


def row_counts(
    column: MeasuredColumn, records: int, values: int | None, nulls: int | None, nans: int | None
) -> RowCounts:
    """What the metrics of a file of `records` rows, negative where its writer did not count them, say for sure."""
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


def measured_columns(schemas: Iterable[Schema]) -> dict[int, MeasuredColumn]:
    """By field id; the first schema that has a column decides. Those in lists and maps have many values per row."""
    columns: dict[int, MeasuredColumn] = {}
    for schema in schemas:
        for field_id, column in _of_fields(schema.fields, may_lack_struct=False):
            columns.setdefault(field_id, column)
    return columns


def _of_fields(fields: Iterable[NestedField], *, may_lack_struct: bool) -> Iterator[tuple[int, MeasuredColumn]]:
    for field in fields:
        if isinstance(field.type, StructType):
            yield from _of_fields(field.type.fields, may_lack_struct=may_lack_struct or not field.required)
        elif is_primitive(field.type):
            yield field.id, MeasuredColumn(field.type, may_lack_struct)
