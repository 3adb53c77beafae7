"""set_current_snapshot: sets main to any snapshot, by its id, a branch or a tag."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.commit.actions.branch_move import MoveBranch, SetCurrentSnapshot
from sqlext.errors import AnalysisError, NotFoundError
from sqlext.procedure.history.moved_branch import SNAPSHOT_COLUMNS, move_branch
from sqlext.procedure.procedure import Invocation, Parameter, Procedure


def set_current_snapshot(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Row: previous and current snapshot. Raises AnalysisError unless one of `snapshot_id` and `ref` is given, and
    NotFoundError for a reference or snapshot that does not exist."""
    name, snapshot_id, ref = (invocation.arguments[key] for key in ("table", "snapshot_id", "ref"))
    if (snapshot_id is None) == (ref is None):
        reason = "one of snapshot_id and ref has to be given"
        raise AnalysisError(
            "PROCEDURE_ARGUMENT",
            procedure="set_current_snapshot",
            reason=reason,
            parameters=SET_CURRENT_SNAPSHOT.signature,
        )
    table = invocation.load(name)
    if snapshot_id is None:
        reference = table.metadata.refs.get(ref)
        if reference is None:
            raise NotFoundError("REFERENCE_NOT_FOUND", type="branch or tag", ref=ref, name=name)
        snapshot_id = reference.snapshot_id
    return [move_branch(invocation, table, MoveBranch(SetCurrentSnapshot(snapshot_id)))]


SET_CURRENT_SNAPSHOT = Procedure(
    "set_current_snapshot",
    (
        Parameter("table", "string"),
        Parameter("snapshot_id", "bigint", required=False),
        Parameter("ref", "string", required=False),
    ),
    SNAPSHOT_COLUMNS,
    set_current_snapshot,
)
