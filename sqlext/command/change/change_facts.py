"""Facts about target and source of a change, for the planner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

from pyspark.sql import DataFrame

from sqlext.command.change.file_copies import columns_read_by_tasks, keeps_partitions, why_by_query
from sqlext.command.change.row_level import Target
from sqlext.command.environment import Environment
from sqlext.command.plan.facts import ChangeFacts, Mode, SourceSize, TargetSize
from sqlext.properties import AUTO, TableProperty, row_level_mode
from sqlext.spark.query.driver_rows import estimate
from sqlext.spec.metadata.table_metadata import TableMetadata


def facts_of(target: Target, mode: TableProperty[str], kept_columns: Sequence[str] | None = ()) -> ChangeFacts:
    """Facts about the target; `mode` is the table property for the statement's verb. New rows keep the values of
    `kept_columns`; None: there are no new rows."""
    metadata = target.table.metadata
    value = row_level_mode(mode, metadata.properties)
    is_set = mode.name in metadata.properties or value == AUTO
    return ChangeFacts(
        Mode(mode.name, value, is_set),
        metadata.format_version,
        _target_size(target),
        columns_read_by_tasks=partial(_read_by_tasks, metadata, kept_columns or ()),
        copied_by_query=partial(why_by_query, metadata, kept_columns),
    )


def _read_by_tasks(metadata: TableMetadata, kept_columns: Sequence[str]) -> int:
    """How many of the kept columns tasks can read; none if new values may move rows to other partitions, each of which
    would get a file of every task."""
    return len(columns_read_by_tasks(metadata, kept_columns) or ()) if keeps_partitions(metadata, kept_columns) else 0


def source_size(environment: Environment, source: DataFrame) -> SourceSize:
    """Spark's estimate of a source's size."""
    found = estimate(source, environment.planning.thresholds.driver_bytes)
    return SourceSize(found.rows, found.is_small, found.may_be_few)


def size_when_asked(environment: Environment, source: Callable[[], DataFrame]) -> Callable[[], SourceSize]:
    """A function for the estimated size of `source`, which is estimated at its first call only."""
    return cache(lambda: source_size(environment, source()))


def _target_size(target: Target) -> TargetSize:
    """Size by the snapshot's summary, 0 if unknown. Only the choice of the writer depends on it."""
    summary = {} if target.version.snapshot is None else target.version.snapshot.summary
    told = (summary.get(name, "") for name in ("total-files-size", "total-records"))
    return TargetSize(*(int(text) if text.isdecimal() else 0 for text in told))
