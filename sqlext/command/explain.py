"""EXPLAIN of DELETE, UPDATE and MERGE: the way the change would be written, why, and the plan of its SELECT."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.command.delete import choose_delete
from sqlext.command.environment import Environment
from sqlext.command.merge import choose_merge
from sqlext.command.outcome import Outcome
from sqlext.command.row_level import Target
from sqlext.command.strategy.strategy import Choice
from sqlext.command.update import choose_update
from sqlext.spark.explained_plan import explained_plan
from sqlext.spark.lowered_sql import lowered_query
from sqlext.sql.statement import Delete, Explain, Update


def explain(environment: Environment, spark: SparkSession, statement: Explain) -> Outcome:
    """One row, one text. Nothing is written."""
    _, choice = _choose(environment, spark, statement)
    plan = explained_plan(lowered_query(spark, choice.change.lowered), statement.mode)
    return Outcome([[f"== Strategy ==\n{choice.name}: {choice.reason}\n\n{plan}"]])


def _choose(environment: Environment, spark: SparkSession, statement: Explain) -> tuple[Target, Choice]:
    match statement.statement:
        case Delete() as delete:
            return choose_delete(environment, spark, delete)
        case Update() as update:
            return choose_update(environment, spark, update)
        case merge:
            return choose_merge(environment, spark, merge)
