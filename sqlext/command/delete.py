"""DELETE FROM: positions of the rows that the condition selects; without a condition, every file at once."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts, Outcome
from sqlext.command.row_level import Target, load_target
from sqlext.command.strategy.mode import by_mode
from sqlext.command.strategy.strategy import RowChange
from sqlext.properties import DELETE_ISOLATION_LEVEL, DELETE_MODE
from sqlext.sql.lowering.delete import lower_delete
from sqlext.sql.statement import Delete
from sqlext.transaction.overwrite import OverwriteFiles


def delete(environment: Environment, spark: SparkSession, statement: Delete) -> Outcome:
    """Runs the statement; one row of counts."""
    target = load_target(environment, spark, statement.table)
    if statement.where is None:
        return Outcome([_delete_all(environment, spark, target).row()])
    change = RowChange(
        lower_delete(statement, target.table.metadata.schema(), target.relation),
        DELETE_ISOLATION_LEVEL.of(target.table.metadata.properties),
    )
    choice = by_mode(target, DELETE_MODE, change)
    return Outcome([choice.run(environment, spark, target, choice.change).row()])


def _delete_all(environment: Environment, spark: SparkSession, target: Target) -> Counts:
    live = spark.sql(f"SELECT count(*) FROM {target.relation}").collect()[0][0]
    if target.version.snapshot is not None:
        environment.commit(target.name.catalog, target.table, OverwriteFiles(delete_all=True), target.destination)
    return Counts(deleted=live)
