"""Facts about the target of a change, as the planner is told them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from pyspark.sql import DataFrame

from sqlext.command.change.row_level import Target
from sqlext.command.environment import Environment
from sqlext.command.plan.facts import ChangeFacts, Mode, SourceSize, TargetSize
from sqlext.properties import AUTO, TableProperty, row_level_mode
from sqlext.spark.query.driver_rows import estimate


def facts_of(target: Target, mode: TableProperty[str]) -> ChangeFacts:
    """What the table says of a change by a statement whose property is `mode`."""
    metadata = target.table.metadata
    value = row_level_mode(mode, metadata.properties)
    is_set = mode.name in metadata.properties or value == AUTO
    return ChangeFacts(Mode(mode.name, value, is_set), metadata.format_version, _target_size(target))


def source_size(environment: Environment, source: DataFrame) -> SourceSize:
    """Spark's estimate of a source."""
    found = estimate(source, environment.planning.thresholds.driver_bytes)
    return SourceSize(found.rows, found.is_small, found.may_be_few)


def size_when_asked(environment: Environment, source: Callable[[], DataFrame]) -> Callable[[], SourceSize]:
    """The estimate, made once and only if the planner asks for it."""
    return cache(lambda: source_size(environment, source()))


def _target_size(target: Target) -> TargetSize:
    """By the snapshot's summary: only who writes depends on it, not what."""
    summary = {} if target.version.snapshot is None else target.version.snapshot.summary
    told = (summary.get(name, "") for name in ("total-files-size", "total-records"))
    return TargetSize(*(int(text) if text.isdecimal() else 0 for text in told))
