"""merge_branch: what a branch changed, merged into another one by key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.command.dml.branch_merging import REFUSE, RESOLUTIONS
from sqlext.command.dml.branch_merging import merge_branch as merge_by_key
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.spec.metadata.reference import MAIN_BRANCH

_TEXTS: Any = {"type": "array", "elementType": "string", "containsNull": True}


def merge_branch(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Row: how many rows were merged, how many keys conflict, and up to 100 of these as JSON. Raises as the command."""
    arguments = invocation.arguments
    conflict = str(arguments["conflict"] or REFUSE).lower()
    if conflict not in RESOLUTIONS:
        raise MERGE_BRANCH.refused(f"conflict is {arguments['conflict']}, and may be {', '.join(RESOLUTIONS)}")
    table = tuple(invocation.table_parts(arguments["table"]))
    into = arguments["into"] or MAIN_BRANCH
    found = merge_by_key(invocation.environment, invocation.spark, table, arguments["branch"], into, conflict)
    return [(found.merged, found.conflicting, list(found.conflicts))]


MERGE_BRANCH = Procedure(
    "merge_branch",
    (
        Parameter("table", "string"),
        Parameter("branch", "string"),
        Parameter("into", "string", required=False),
        Parameter("conflict", "string", required=False),
    ),
    (("merged_rows_count", "long"), ("conflicting_rows_count", "long"), ("conflicts", _TEXTS)),
    merge_branch,
)
