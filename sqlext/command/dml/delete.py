"""DELETE FROM: whole files where metadata tells that all their rows go, positions of the rows of others."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

from sqlext.command.change.metadata_delete import covered_files, delete_everything, metadata_delete
from sqlext.command.change.mode import by_mode
from sqlext.command.change.row_level import Target, load_target
from sqlext.command.change.strategy import Choice, RowChange, likely_few
from sqlext.command.compaction.compaction import compact_after_commit
from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.properties import DELETE_ISOLATION_LEVEL, DELETE_MODE
from sqlext.scan.filter.row_estimate import expected_rows
from sqlext.spark.query.lowered_sql import lowered_change
from sqlext.spark.scan.exact_filter import exact_filter
from sqlext.sql.lowering.delete import lower_delete
from sqlext.sql.statements.statement import Delete


def delete(environment: Environment, spark: SparkSession, statement: Delete) -> Outcome:
    """Runs the statement; one row of counts."""
    target, choice = choose_delete(environment, spark, statement)
    counts = choice.carry_out(environment, spark, target)
    compact_after_commit(environment, spark, target)
    return Outcome([counts.row()])


def choose_delete(environment: Environment, spark: SparkSession, statement: Delete) -> tuple[Target, Choice]:
    """The target, and the way the change is written."""
    target = load_target(environment, spark, statement.table)
    schema = target.table.metadata.schema()
    lowered = lower_delete(statement, schema, target.relation)
    query = None if statement.where is None else lowered_change(spark, lowered)
    row_filter = None if query is None else exact_filter(spark, query, schema)
    isolation = DELETE_ISOLATION_LEVEL.of(target.table.metadata.properties)
    change = RowChange(lowered, isolation, row_filter=row_filter, query=query)
    if statement.where is None:
        return target, Choice("metadata alone", "there is no condition", delete_everything, change)
    by_rows = by_mode(target, DELETE_MODE, change)
    if row_filter is None:
        return target, by_rows
    covered = covered_files(environment, target, row_filter)
    guessed = expected_rows(row_filter, [task.file for task in covered.undecided], schema)
    change = replace(change, few=likely_few(target, guessed))
    by_rows = by_mode(target, DELETE_MODE, change)
    if not covered.undecided:
        reason = f"partitions and bounds decide of all files, and cover {len(covered.whole)}"
        return target, Choice("metadata alone", reason, metadata_delete, change)
    if covered.whole and by_rows.name == "merge-on-read":
        reason = f"partitions and bounds cover {len(covered.whole)} files; {by_rows.reason}"
        return target, Choice("metadata and merge-on-read", reason, metadata_delete, change)
    return target, by_rows
