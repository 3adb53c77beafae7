"""The files that may contain one of the first n rows of `ORDER BY … LIMIT n`, by their bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlext.scan.filter.measured_column import MetricsColumn
from sqlext.scan.filter.value_range import metrics_range, row_counts_of
from sqlext.scan.scan_plan import FileScanTask
from sqlext.spec.types import (
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
)

_ORDERED_BY_BOUNDS = (
    IntegerType,
    LongType,
    DateType,
    TimestampType,
    TimestamptzType,
    DecimalType,
    StringType,
)


@dataclass(frozen=True, slots=True)
class FirstRows:
    """The first `count` rows by a top-level column. Further sort columns do not change which files are needed."""

    field: NestedField
    descending: bool
    nulls_first: bool
    count: int


def tasks_of_first_rows(tasks: Sequence[FileScanTask], wanted: FirstRows) -> Sequence[FileScanTask]:
    """The tasks, in their order, whose files may contain one of the wanted rows. Spark must still sort and limit.

    Files are taken by their last bound in the sort order until they certainly have enough live, non-null rows; a file
    whose first bound is after that last bound is not needed. A file that may have nulls is needed if nulls sort first.
    """
    if not isinstance(wanted.field.type, _ORDERED_BY_BOUNDS):
        return tasks
    reaches = [_Reach.of(task, wanted) for task in tasks]
    bounded = sorted(
        (one for one in reaches if one.end is not None), key=lambda one: one.end, reverse=wanted.descending
    )
    found = 0
    for reach in bounded:
        found += reach.sure_rows
        if found >= wanted.count:
            return [task for task, one in zip(tasks, reaches, strict=True) if one.begins_by(reach.end, wanted)]
    return tasks


@dataclass(frozen=True, slots=True)
class _Reach:
    """The first and the last bound of a file in the sort order; None if unknown."""

    begin: Any
    end: Any
    sure_rows: int
    has_first_nulls: bool

    @classmethod
    def of(cls, task: FileScanTask, wanted: FirstRows) -> _Reach:
        column = MetricsColumn(wanted.field.type)
        values = metrics_range(task.file, wanted.field.id, column)
        begin, end = (values.upper, values.lower) if wanted.descending else (values.lower, values.upper)
        first_nulls = wanted.nulls_first and values.may_be_null
        return cls(begin, end, _sure_rows(task, wanted.field.id, column), first_nulls)

    def begins_by(self, end: Any, wanted: FirstRows) -> bool:
        if self.has_first_nulls or self.begin is None:
            return True
        return bool(self.begin >= end if wanted.descending else self.begin <= end)


def _sure_rows(task: FileScanTask, field_id: int, column: MetricsColumn) -> int:
    """The least possible number of live rows in which the column is not null."""
    nulls = row_counts_of(task.file, field_id, column).nulls
    return 0 if nulls is None or task.equality_groups else max(0, task.file.record_count - nulls - task.deleted_rows)
