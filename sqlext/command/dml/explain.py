"""EXPLAIN of INSERT, UPSERT, DELETE, UPDATE and MERGE: the plan of the change with its reason, the files that it would
read and write, what its commit may conflict with, and Spark's plan of the query."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import SparkSession

from sqlext.command.change.explanation import Explanation
from sqlext.command.change.row_deletion import planned_delete
from sqlext.command.dml.explained_contention import commit_lines
from sqlext.command.dml.explained_files import file_lines
from sqlext.command.dml.insert import explain_insert
from sqlext.command.dml.merge import planned_merge
from sqlext.command.dml.update import planned_update
from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.spark.query.explained_plan import explained_plan
from sqlext.sql.statements.statement import Delete, Explain, Insert, Update


def explain(environment: Environment, spark: SparkSession, statement: Explain) -> Outcome:
    """Runs the statement; one row with the text. Nothing is written, and of the tables only metadata is read, but for
    the sample by which the mode `auto` is predicted."""
    explained = _explanation(environment, spark, statement)
    sections = (
        ("Strategy", _strategy(explained)),
        ("Files", file_lines(environment, explained)),
        ("Commit", commit_lines(environment, spark, explained)),
    )
    text = "".join("\n".join([f"== {title} ==", *lines, "", ""]) for title, lines in sections)
    return Outcome([[text + explained_plan(explained.rows, statement.mode)]])


def _strategy(explained: Explanation) -> Iterator[str]:
    yield from explained.plan.lines()
    if explained.source is not None:
        yield f"  {explained.source}"


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
