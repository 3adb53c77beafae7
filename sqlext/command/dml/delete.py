"""DELETE FROM: files are removed if metadata tells that all their rows match; other rows are deleted by position."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.command.change.row_deletion import planned_delete
from sqlext.command.environment import Environment
from sqlext.command.maintenance.care import care_after_commit
from sqlext.command.outcome import Outcome
from sqlext.sql.statements.statement import Delete


def delete(environment: Environment, spark: SparkSession, statement: Delete) -> Outcome:
    """Runs the statement; one row of counts."""
    target, planned = planned_delete(environment, spark, statement)
    counts = planned.carry_out(environment, spark, target)
    care_after_commit(environment, spark, target)
    return Outcome([counts.row()])
