"""cherrypick_snapshot: applies the changes of a snapshot that is on no branch to main."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.commit.actions.cherry_pick import CherryPick
from sqlext.procedure.history.moved_branch import move_branch
from sqlext.procedure.procedure import Invocation, Parameter, Procedure


def cherrypick_snapshot(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Row: the snapshot that was picked, and main's new head. Raises as `CherryPick`."""
    picked = invocation.arguments["snapshot_id"]
    table = invocation.load(invocation.arguments["table"])
    return [(picked, move_branch(invocation, table, CherryPick(snapshot_id=picked))[1])]


CHERRYPICK_SNAPSHOT = Procedure(
    "cherrypick_snapshot",
    (Parameter("table", "string"), Parameter("snapshot_id", "bigint")),
    (("source_snapshot_id", "long"), ("current_snapshot_id", "long")),
    cherrypick_snapshot,
)
