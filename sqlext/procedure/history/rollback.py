"""rollback_to_snapshot and rollback_to_timestamp: set main back to one of its ancestors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.commit.actions.branch_move import MoveBranch, RollbackToSnapshot, RollbackToTimestamp
from sqlext.procedure.history.moved_branch import SNAPSHOT_COLUMNS, move_branch
from sqlext.procedure.procedure import Invocation, Parameter, Procedure


def rollback_to_snapshot(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Sets main to a snapshot of its history. Row: previous and current snapshot. Raises as `RollbackToSnapshot`."""
    table = invocation.load(invocation.arguments["table"])
    return [move_branch(invocation, table, MoveBranch(RollbackToSnapshot(invocation.arguments["snapshot_id"])))]


def rollback_to_timestamp(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Sets main to its newest snapshot before a time. Row: previous and current snapshot.

    Raises as `RollbackToTimestamp`.
    """
    table = invocation.load(invocation.arguments["table"])
    return [move_branch(invocation, table, MoveBranch(RollbackToTimestamp(invocation.arguments["timestamp"])))]


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
