"""Commits that move a branch, and its heads before and after, which procedures return."""

from __future__ import annotations

from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.action import Action
from sqlext.procedure.procedure import Invocation
from sqlext.spec.metadata.reference import MAIN_BRANCH

SNAPSHOT_COLUMNS = (("previous_snapshot_id", "long"), ("current_snapshot_id", "long"))


def move_branch(
    invocation: Invocation, table: LoadedTable, action: Action, branch: str = MAIN_BRANCH
) -> tuple[int | None, int | None]:
    """Commits `action`; returns the snapshot ids of the branch's head before and after, None for no head."""
    moved = invocation.environment.commit(invocation.catalog, table, action).table
    return _head(table, branch), _head(moved, branch)


def _head(table: LoadedTable, branch: str) -> int | None:
    reference = table.metadata.refs.get(branch)
    return None if reference is None else reference.snapshot_id
