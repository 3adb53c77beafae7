"""rollback_to_snapshot and rollback_to_timestamp: main goes back to where it has been."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.commit.actions.branch_move import BackToSnapshot, BackToTime, MoveBranch
from sqlext.procedure.moved_branch import SNAPSHOT_COLUMNS, move_branch
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.spark.query.instant import milliseconds


def rollback_to_snapshot(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """To a snapshot that main has been at; rows: previous and current snapshot."""
    table = invocation.load(invocation.arguments["table"])
    return [move_branch(invocation, table, MoveBranch(BackToSnapshot(invocation.arguments["snapshot_id"])))]


def rollback_to_timestamp(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """To the newest snapshot of main before a time; rows: previous and current snapshot."""
    table = invocation.load(invocation.arguments["table"])
    return [move_branch(invocation, table, MoveBranch(BackToTime(milliseconds(invocation.arguments["timestamp"]))))]


ROLLBACK_TO_SNAPSHOT = Procedure(
    "rollback_to_snapshot",
    (Parameter("table", "string"), Parameter("snapshot_id", "bigint")),
    SNAPSHOT_COLUMNS,
    rollback_to_snapshot,
)
ROLLBACK_TO_TIMESTAMP = Procedure(
    "rollback_to_timestamp",
    (Parameter("table", "string"), Parameter("timestamp", "timestamp")),
    SNAPSHOT_COLUMNS,
    rollback_to_timestamp,
)
