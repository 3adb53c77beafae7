"""OPTIMIZE: compaction of a table or of a part of it, on demand, after the deletion of rows that are expired."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.command.compaction.chosen_part import condition
from sqlext.command.compaction.compaction import compact_table
from sqlext.command.environment import Environment
from sqlext.command.maintenance.expired_rows import delete_expired_rows
from sqlext.command.outcome import Outcome
from sqlext.sql.statements.statement import Optimize


def optimize(environment: Environment, spark: SparkSession, statement: Optimize) -> Outcome:
    """One row of `COMPACTED_COLUMNS`. Raises as `compact_table`."""
    where = statement.where
    if where is None:
        delete_expired_rows(environment, spark, statement.table)
    done = compact_table(
        environment,
        spark,
        statement.table,
        full=statement.full,
        chosen=None if where is None else lambda target: condition(spark, target, where.text),
    )
    return Outcome([done.row()])
