"""Carries out a planned change of rows, in the way that its plan names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from sqlext.command.change.auto import auto, expected
from sqlext.command.change.copy_on_write import copy_on_write
from sqlext.command.change.explanation import Explanation
from sqlext.command.change.insert_only import insert_only
from sqlext.command.change.merge_on_read import merge_on_read
from sqlext.command.change.metadata_delete import delete_everything, metadata_delete
from sqlext.command.change.row_change import CarryOut, KeyHasCopies, RowChange, change_query, with_copies
from sqlext.command.change.row_level import Target
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.plan.change_plan import ChangePlan, Way

_WAYS: Mapping[Way, CarryOut] = {
    Way.EVERYTHING: delete_everything,
    Way.COVERED: metadata_delete,
    Way.PARTLY_COVERED: metadata_delete,
    Way.INSERT_ONLY: insert_only,
    Way.COPY_ON_WRITE: copy_on_write,
    Way.AUTO: auto,
    Way.MERGE_ON_READ: merge_on_read,
}


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A change that one SELECT says, and its plan."""

    plan: ChangePlan
    change: RowChange

    def carry_out(self, environment: Environment, spark: SparkSession, target: Target) -> Counts:
        """Writes and commits it; once more, and its source, where the table turns out to have a key of it twice.

        Errors: see `CarryOut`.
        """
        run = _WAYS[self.plan.way]
        try:
            return run(environment, spark, target, self.change, self.plan.writer)
        except KeyHasCopies:
            return run(environment, spark, target, with_copies(self.change), self.plan.writer)

    def explained(self, environment: Environment, spark: SparkSession, target: Target) -> Explanation:
        """What EXPLAIN tells of it. What `auto` will come to is looked up."""
        plan = self.plan
        if plan.way is Way.AUTO:
            plan = expected(environment, spark, target, self.change).of(plan)
        return Explanation(tuple(plan.lines()), change_query(spark, self.change))
