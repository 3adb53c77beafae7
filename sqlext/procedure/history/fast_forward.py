"""fast_forward: sets a branch to the head of another one that descends from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.commit.actions.branch_move import FastForward, MoveBranch
from sqlext.procedure.history.moved_branch import move_branch
from sqlext.procedure.procedure import Invocation, Parameter, Procedure


def fast_forward(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Row: the branch, and its heads before and after. Raises as `FastForward`."""
    branch, to = invocation.arguments["branch"], invocation.arguments["to"]
    table = invocation.load(invocation.arguments["table"])
    return [(branch, *move_branch(invocation, table, MoveBranch(FastForward(to), branch), branch))]


FAST_FORWARD = Procedure(
    "fast_forward",
    (Parameter("table", "string"), Parameter("branch", "string"), Parameter("to", "string")),
    (("branch_updated", "string"), ("previous_ref", "long"), ("updated_ref", "long")),
    fast_forward,
)
