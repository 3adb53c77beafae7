"""TRUNCATE TABLE: all rows of a table or branch, or those of a partition (PARTITION clause)."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.command.change.row_level import commit_change, load_target
from sqlext.command.dml.row_write import commit_written
from sqlext.command.dml.static_partition import replaced_partition, static_partition
from sqlext.command.dml.write_mode import WriteMode
from sqlext.command.environment import Environment
from sqlext.command.maintenance.care import care_after_commit
from sqlext.command.outcome import Outcome
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.spark.query.write_job import WrittenFiles
from sqlext.spark.session.session_settings import is_case_sensitive
from sqlext.sql.statements.statement import Truncate


def truncate(environment: Environment, spark: SparkSession, statement: Truncate) -> Outcome:
    """Runs the statement; no rows, as in Spark. Removed rows remain readable in earlier snapshots.

    Raises AnalysisError NOT_A_PARTITION_COLUMN for a column of PARTITION that is no identity partition field.
    """
    target = load_target(environment, spark, statement.table)
    values = static_partition(statement, target.table.metadata, case_sensitive=is_case_sensitive(spark))
    if values:
        mode = WriteMode("overwrite where", replaced_partition(spark, values, target))
        commit_written(environment, spark, target, mode, lambda operation: WrittenFiles())
        care_after_commit(environment, spark, target)
    elif target.version.snapshot is not None:
        commit_change(environment, target, OverwriteFiles(delete_all=True))
    return Outcome()
