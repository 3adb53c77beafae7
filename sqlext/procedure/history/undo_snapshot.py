"""undo: reverses the changes of rows of one snapshot by a new commit, also where later commits stand on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlext.command.dml.undo import undo
from sqlext.procedure.history.moved_branch import SNAPSHOT_COLUMNS
from sqlext.procedure.procedure import Invocation, Parameter, Procedure
from sqlext.sql.statements.statement import TableName


def undo_snapshot(invocation: Invocation) -> Sequence[Sequence[Any]]:
    """Row: the branch's head before and after, and the numbers of rows deleted and restored. With `dry_run` the undo is
    carried out in a transaction that is rolled back, and the head stays. Raises as `undo`."""
    environment, table = invocation.environment, TableName(invocation.table_parts(invocation.arguments["table"]))
    snapshot_id = invocation.arguments["snapshot_id"]
    if not invocation.arguments["dry_run"]:
        done = undo(environment, invocation.spark, table, snapshot_id)
        return [(done.previous, done.current, done.deleted, done.restored)]
    with environment.transactions.trial(environment.catalogs.transaction) as transaction:
        within = replace(environment, catalogs=environment.catalogs.within(transaction))
        done = undo(within, invocation.spark, table, snapshot_id)
    return [(done.previous, done.previous, done.deleted, done.restored)]


UNDO = Procedure(
    "undo",
    (
        Parameter("table", "string"),
        Parameter("snapshot_id", "bigint"),
        Parameter("dry_run", "boolean", required=False),
    ),
    (*SNAPSHOT_COLUMNS, ("deleted_rows", "long"), ("restored_rows", "long")),
    undo_snapshot,
)
