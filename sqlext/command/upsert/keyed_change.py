"""A planned change whose source rows each replace the target row with their key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from sqlext.command.change.auto import expected
from sqlext.command.change.carry_out import PlannedChange
from sqlext.command.change.explanation import Explanation
from sqlext.command.change.row_change import RowChange, change_query
from sqlext.command.change.row_level import Target
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.plan.change_plan import Alternative, ChangePlan, Way
from sqlext.command.plan.facts import SourceSize
from sqlext.command.upsert.change_batch import ChangeBatch
from sqlext.command.upsert.equality import upsert_by_equality
from sqlext.command.upsert.look_up import Otherwise, upsert_by_lookup


@dataclass(frozen=True, slots=True)
class KeyedChange:
    """`batch` has the source rows, for ways that find rows by key, and `source` the query that EXPLAIN shows for these,
    which scans what the statement reads. `joined` is the change as one SELECT of a join with the target, for the other
    ways. `size` is the source's."""

    plan: ChangePlan
    batch: Callable[[], ChangeBatch]
    joined: RowChange | None
    source: Callable[[], DataFrame]
    size: Callable[[], SourceSize]

    def carry_out(self, environment: Environment, spark: SparkSession, target: Target) -> Counts:
        """Writes and commits the change.

        Raises as `PlannedChange.carry_out`, and DataError NULL_IN_REQUIRED_COLUMN for a null in a key.
        """
        plan = self.plan
        if plan.way is Way.EQUALITY:
            return upsert_by_equality(environment, target, self.batch(), plan.writer, self.source())
        assert self.joined is not None
        joined = self.joined
        if plan.way is not Way.LOOK_UP:
            return PlannedChange(plan, joined).carry_out(environment, spark, target)

        def instead(other: Alternative) -> Otherwise:
            return lambda: PlannedChange(other.plan, joined).carry_out(environment, spark, target)

        assert plan.too_many is not None
        rewrites = None if plan.rewrites is None else instead(plan.rewrites)
        return upsert_by_lookup(
            environment, target, self.batch(), joined.isolation, plan.writer, instead(plan.too_many), rewrites
        )

    def explained(self, environment: Environment, spark: SparkSession, target: Target) -> Explanation:
        """The plan for EXPLAIN; a choice between look-up and rewritten files is estimated from a sample."""
        plan = self.plan
        if plan.rewrites is not None and self.joined is not None:
            found = expected(environment, spark, target, self.joined)
            if found.rewrites:
                query = change_query(spark, self.joined)
                return Explanation(target, found.of(plan.rewrites.plan), query, self.joined, self.size().rows)
            rewrites = plan.rewrites if found.rewrites is None else None
            plan = replace(plan, reason=f"{plan.reason}; {found.reason}", rewrites=rewrites)
        if plan.way in (Way.EQUALITY, Way.LOOK_UP) or self.joined is None:
            return Explanation(target, plan, self.source(), expected_rows=self.size().rows)
        return PlannedChange(plan, self.joined, self.size().rows).explained(environment, spark, target)
