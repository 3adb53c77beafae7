"""Executes a planned change by the strategy (way) of its plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from sqlext.command.change.auto import auto, expected
from sqlext.command.change.copied_by_tasks import columns_left_out
from sqlext.command.change.copy_on_write import copy_by_query, copy_on_write
from sqlext.command.change.explanation import Explanation
from sqlext.command.change.insert_only import insert_only
from sqlext.command.change.merge_on_read import complete_by_tasks, merge_on_read
from sqlext.command.change.metadata_delete import delete_everything, metadata_delete
from sqlext.command.change.named_rows import change_named_rows
from sqlext.command.change.row_change import CarryOut, KeyHasCopies, RowChange, change_query, with_copies
from sqlext.command.change.row_level import Target
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.plan.change_plan import READ_BY_TASKS, ChangePlan, Way, Writer
from sqlext.spark.query.few_joined_rows import is_tried
from sqlext.spark.query.lowered_sql import log_lowered


def _change_by_key(
    environment: Environment, spark: SparkSession, target: Target, change: RowChange, writer: Writer
) -> Counts:
    """See `change_named_rows`."""
    assert change.named is not None
    log_lowered(change.lowered)
    return change_named_rows(environment, target, change.named, change.isolation)


_WAYS: Mapping[Way, CarryOut] = {
    Way.DELETE_ALL: delete_everything,
    Way.METADATA_DELETE: metadata_delete,
    Way.PARTIAL_METADATA_DELETE: metadata_delete,
    Way.NAMED_KEYS: _change_by_key,
    Way.INSERT_ONLY: insert_only,
    Way.COPY_ON_WRITE: copy_on_write,
    Way.COPY_BY_QUERY: copy_by_query,
    Way.AUTO: auto,
    Way.COMPLETED_BY_TASKS: complete_by_tasks,
    Way.MERGE_ON_READ: merge_on_read,
}


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A change that one lowered SELECT computes, and its plan. `expected_rows` are those of the planner's facts."""

    plan: ChangePlan
    change: RowChange
    expected_rows: int | None = None

    def carry_out(self, environment: Environment, spark: SparkSession, target: Target) -> Counts:
        """Writes and commits the change; with `one_copy` if the table has several rows of a source key.

        In that case the source is evaluated twice. Raises as `CarryOut`, except KeyHasCopies.
        """
        run = _WAYS[self.plan.way]
        try:
            return run(environment, spark, target, self.change, self.plan.writer)
        except KeyHasCopies:
            return run(environment, spark, target, with_copies(self.change), self.plan.writer)

    def explained(self, environment: Environment, spark: SparkSession, target: Target) -> Explanation:
        """The plan for EXPLAIN. For `auto` its choice is estimated from a sample."""
        plan, rows = self.plan, change_query(spark, self.change)
        if plan.way in READ_BY_TASKS:
            rows = rows.drop(*columns_left_out(target, self.change))
        if plan.way is Way.AUTO:
            plan = expected(environment, spark, target, self.change).of(plan)
        sent = self.change.sent_bytes
        tried = bool(sent) and is_tried(rows, sent)
        source = f"tasks get all rows of the source if these have at most {sent:,} bytes; else both sides are shuffled"
        return Explanation(target, plan, rows, self.change, self.expected_rows, source=source if tried else None)
