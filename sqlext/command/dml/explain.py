"""EXPLAIN of INSERT, UPSERT, DELETE, UPDATE and MERGE: the plan of the change, its reason, and Spark's plan of the
query."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.command.change.explanation import Explanation
from sqlext.command.change.row_deletion import planned_delete
from sqlext.command.dml.insert import explain_insert
from sqlext.command.dml.merge import planned_merge
from sqlext.command.dml.update import planned_update
from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.spark.query.explained_plan import explained_plan
from sqlext.sql.statements.statement import Delete, Explain, Insert, Update


def explain(environment: Environment, spark: SparkSession, statement: Explain) -> Outcome:
    """Runs the statement; one row with the text. Nothing is written."""
    told = _explanation(environment, spark, statement)
    plan = explained_plan(told.rows, statement.mode)
    lines = "\n".join(told.lines)
    return Outcome([[f"== Strategy ==\n{lines}\n\n{plan}"]])


def _explanation(environment: Environment, spark: SparkSession, statement: Explain) -> Explanation:
    match statement.statement:
        case Insert() as insert:
            return explain_insert(environment, spark, insert)
        case Delete() as delete:
            target, deleted = planned_delete(environment, spark, delete)
            return deleted.explained(environment, spark, target)
        case Update() as update:
            target, updated = planned_update(environment, spark, update)
            return updated.explained(environment, spark, target)
        case merge:
            target, merged = planned_merge(environment, spark, merge)
            return merged.explained(environment, spark, target)
