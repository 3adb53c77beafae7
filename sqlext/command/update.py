"""UPDATE: the old positions and the new rows of what the condition selects."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.command.row_level import change_rows, load_target, require_delete_files
from sqlext.properties import UPDATE_ISOLATION_LEVEL
from sqlext.sql.lowering.update import lower_update
from sqlext.sql.statement import Update


def update(environment: Environment, spark: SparkSession, statement: Update) -> Outcome:
    """Runs the statement; one row of counts."""
    target = load_target(environment, statement.table)
    require_delete_files(target, "UPDATE")
    counts = change_rows(
        environment,
        spark,
        target,
        lower_update(statement, target.table.metadata.schema(), target.relation),
        isolation=UPDATE_ISOLATION_LEVEL.of(target.table.metadata.properties),
    )
    return Outcome([counts.row()])
