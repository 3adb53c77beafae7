"""publish_changes: applies the snapshot staged under a `spark.wap.id` to main (write-audit-publish)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.commit.actions.cherry_pick import CherryPick
from sqlext.commit.snapshot.snapshot_writer import WAP_ID_PROPERTY
from sqlext.procedure.history.moved_branch import move_branch
from sqlext.procedure.procedure import Invocation, Parameter, Procedure


def publish_changes(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Row: the staged snapshot, and main's new head. Raises as `CherryPick`."""
    wap_id = invocation.arguments["wap_id"]
    table = invocation.load(invocation.arguments["table"])
    current = move_branch(invocation, table, CherryPick(wap_id=wap_id))[1]
    staged = (one.snapshot_id for one in table.metadata.snapshots if one.summary.get(WAP_ID_PROPERTY) == wap_id)
    return [(next(staged, None), current)]


PUBLISH_CHANGES = Procedure(
    "publish_changes",
    (Parameter("table", "string"), Parameter("wap_id", "string")),
    (("source_snapshot_id", "long"), ("current_snapshot_id", "long")),
    publish_changes,
)
