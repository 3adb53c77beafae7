"""EXPLAIN of INSERT, UPSERT, DELETE, UPDATE and MERGE: the way of the change, why, and the plan of its query."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.command.change.explanation import Explanation, explained
from sqlext.command.dml.delete import choose_delete
from sqlext.command.dml.insert import explain_insert
from sqlext.command.dml.merge import choose_merge
from sqlext.command.dml.update import choose_update
from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.spark.query.explained_plan import explained_plan
from sqlext.sql.statements.statement import Delete, Explain, Insert, Update


def explain(environment: Environment, spark: SparkSession, statement: Explain) -> Outcome:
    """One row, one text. Nothing is written."""
    told = _explanation(environment, spark, statement)
    plan = explained_plan(told.rows, statement.mode)
    return Outcome([[f"== Strategy ==\n{told.name}: {told.reason}\n\n{plan}"]])


def _explanation(environment: Environment, spark: SparkSession, statement: Explain) -> Explanation:
    match statement.statement:
        case Insert() as insert:
            return explain_insert(environment, spark, insert)
        case Delete() as delete:
            return explained(environment, spark, *choose_delete(environment, spark, delete))
        case Update() as update:
            return explained(environment, spark, *choose_update(environment, spark, update))
        case merge:
            return explained(environment, spark, *choose_merge(environment, spark, merge))
