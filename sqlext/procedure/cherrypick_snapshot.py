"""cherrypick_snapshot and publish_changes: apply the changes of a snapshot that is on no branch to main.

publish_changes names the snapshot by the `spark.wap.id` that it was staged under (write-audit-publish).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.commit.actions.cherry_pick import CherryPick
from sqlext.commit.snapshot.snapshot_writer import WAP_ID_PROPERTY
from sqlext.procedure.moved_branch import move_branch
from sqlext.procedure.procedure import Invocation, Parameter, Procedure

_COLUMNS = (("source_snapshot_id", "long"), ("current_snapshot_id", "long"))


def cherrypick_snapshot(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Row: the snapshot that was picked, and main's new head. Raises as `CherryPick`."""
    picked = invocation.arguments["snapshot_id"]
    table = invocation.load(invocation.arguments["table"])
    return [(picked, move_branch(invocation, table, CherryPick(snapshot_id=picked))[1])]


def publish_changes(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Row: the staged snapshot, and main's new head. Raises as `CherryPick`."""
    wap_id = invocation.arguments["wap_id"]
    table = invocation.load(invocation.arguments["table"])
    current = move_branch(invocation, table, CherryPick(wap_id=wap_id))[1]
    staged = (one.snapshot_id for one in table.metadata.snapshots if one.summary.get(WAP_ID_PROPERTY) == wap_id)
    return [(next(staged, None), current)]


CHERRYPICK_SNAPSHOT = Procedure(
    "cherrypick_snapshot",
    (Parameter("table", "string"), Parameter("snapshot_id", "bigint")),
    _COLUMNS,
    cherrypick_snapshot,
)
PUBLISH_CHANGES = Procedure(
    "publish_changes",
    (Parameter("table", "string"), Parameter("wap_id", "string")),
    _COLUMNS,
    publish_changes,
)
