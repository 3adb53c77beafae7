"""RESTORE TABLE: main is moved to an earlier snapshot; later snapshots remain."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from sqlext.command.environment import Environment
from sqlext.command.outcome import Outcome
from sqlext.commit.actions.branch_move import MoveBranch, SetCurrentSnapshot
from sqlext.spark.catalog.session_catalogs import handle_of
from sqlext.spark.catalog.time_travel import travel
from sqlext.spark.query.instant import evaluated_time
from sqlext.sql.statements.statement import Restore

RESTORE_COLUMNS = (("previous_snapshot_id", "long"), ("current_snapshot_id", "long"))


def restore(environment: Environment, spark: SparkSession, statement: Restore) -> Outcome:
    """Runs the statement; one row with main's snapshot ids before and after."""
    table = environment.catalogs.load(statement.table.parts)
    at: dict[str, Any] = {"version": statement.version}
    if statement.version is None:
        assert statement.timestamp is not None
        at = {"timestamp": evaluated_time(spark, statement.timestamp.text)}
    handle = travel(handle_of(statement.table.catalog, table), table.metadata, at)
    version = environment.catalogs.version(handle)
    assert version.snapshot is not None
    restored = environment.commit(
        statement.table.catalog, table, MoveBranch(SetCurrentSnapshot(version.snapshot.snapshot_id))
    ).table
    return Outcome([[table.metadata.current_snapshot_id, restored.metadata.current_snapshot_id]])
