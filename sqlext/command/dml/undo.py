"""The undo of one snapshot: its changes of rows are reversed by a new commit, whatever was committed since."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from sqlext.command.change.carry_out import PlannedChange
from sqlext.command.change.change_facts import facts_of
from sqlext.command.change.read_set import ConflictScope
from sqlext.command.change.rerun import run_with_reruns
from sqlext.command.change.row_change import RowChange
from sqlext.command.change.row_level import Target, has_row_ids, load_target
from sqlext.command.changelog.changes import ChangeFeed
from sqlext.command.environment import Environment
from sqlext.command.maintenance.care import care_after_commit
from sqlext.command.plan.planner import plan_change
from sqlext.commit.actions.undo_commit import UndoOnce
from sqlext.errors import AnalysisError
from sqlext.properties import MERGE_MODE
from sqlext.spark.query.lowered_sql import log_lowered, lowered_query
from sqlext.spec.field_path import path_text
from sqlext.spec.identity_column import with_values_given
from sqlext.spec.metadata.snapshot import Snapshot, share_row_ids
from sqlext.spec.metadata.snapshot_line import ancestors
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.metadata.undone_snapshot import UNDONE_SNAPSHOT, not_undoable, undoing
from sqlext.sql.lowering.changes import ChangeStep
from sqlext.sql.lowering.undo import UndoneChange
from sqlext.sql.statements.statement import TableName

_NAMED_ROWS = 5
_SERIALIZABLE = "serializable"


@dataclass(frozen=True, slots=True)
class Undone:
    """The heads of the branch before and after, and how many rows were deleted, and inserted again. A row that was put
    back in the place of another counts as both."""

    previous: int
    current: int
    deleted: int
    restored: int


def undo(environment: Environment, spark: SparkSession, table: TableName, snapshot_id: int) -> Undone:
    """Reverses the changes of rows of one snapshot in the history of `table`, which may name a branch.

    Raises AnalysisError UNDO_NOT_POSSIBLE, UNDO_ROWS_CHANGED with some of the rows that later commits have changed, and
    as a MERGE.
    """
    return run_with_reruns(environment, table.parts, lambda now: _undo(now, spark, table, snapshot_id))


def _undo(environment: Environment, spark: SparkSession, table: TableName, snapshot_id: int) -> Undone:
    loaded = load_target(environment, spark, table)
    metadata, head = loaded.table.metadata, loaded.version.snapshot
    reason = not_undoable(ancestors(metadata, head), snapshot_id)
    if reason is not None:
        raise _refused(table, snapshot_id, reason)
    assert head is not None
    # What is undone is the same in each run, and no source that a conflict could have changed.
    target = replace(_as_undo(loaded, snapshot_id), overtaken=None)
    snapshot = metadata.snapshot(snapshot_id)
    change = _undone_change(environment, target, snapshot)
    if head != snapshot:
        later = ChangeFeed(environment).step(target.version.handle, snapshot, head, 0)
        _require_unchanged(spark, target, snapshot_id, change, later)
    row_change = RowChange(change.lowered(), _SERIALIZABLE, scope=ConflictScope(keys_unique=bool(change.key)))
    planned = PlannedChange(plan_change(facts_of(target, MERGE_MODE), environment.planning), row_change)
    counts = planned.carry_out(environment, spark, target)
    inserted, updated, deleted = counts.inserted or 0, counts.updated or 0, counts.deleted or 0
    if not (inserted or updated or deleted):
        raise _refused(table, snapshot_id, "it changed no row. There is nothing to undo")
    care_after_commit(environment, spark, target)
    _, now = environment.catalogs.locate(table.parts)
    current = next(one for one in reversed(now.metadata.snapshots) if undoing(one) == snapshot_id)
    return Undone(head.snapshot_id, current.snapshot_id, deleted + updated, inserted + updated)


def _as_undo(target: Target, snapshot_id: int) -> Target:
    """The target, whose commit tells which snapshot it undoes, and does so once."""
    summary = (*target.destination.summary, (UNDONE_SNAPSHOT, str(snapshot_id)))
    destination = replace(target.destination, summary=summary)
    # Rows that come back have their values.
    settings = {**target.settings, **with_values_given(target.table.metadata.properties)}
    return replace(
        target, destination=destination, settings=settings, as_committed=lambda action: UndoOnce(snapshot_id, action)
    )


def _undone_change(environment: Environment, target: Target, snapshot: Snapshot) -> UndoneChange:
    """The changes of the snapshot, and how its rows are found. Raises AnalysisError UNDO_NOT_POSSIBLE."""
    metadata = target.table.metadata
    schema = metadata.schema()
    parent_id = snapshot.parent_snapshot_id
    parent = None if parent_id is None else metadata.snapshot_or_none(parent_id)
    step = _step(environment, target, snapshot, parent)
    if parent is not None and (step.removed or step.touched):
        _require_columns(target.name, metadata, snapshot, parent)
    row_ids = has_row_ids(target)
    key = tuple(schema.column_path(id) for id in schema.identifier_field_ids)
    is_parent_known = parent_id is None or parent is not None
    by_row_id = not key and row_ids and is_parent_known and share_row_ids(parent, snapshot)
    return UndoneChange(step, target.relation, schema, key, by_row_id=by_row_id, keeps_row_ids=row_ids)


def _step(environment: Environment, target: Target, snapshot: Snapshot, parent: Snapshot | None) -> ChangeStep:
    feed, handle = ChangeFeed(environment), target.version.handle
    if parent is not None or snapshot.parent_snapshot_id is None:
        return feed.step(handle, parent, snapshot, 0)
    # Files of format version 1 have no sequence numbers that tell whose they are.
    if snapshot.operation == "append" and snapshot.sequence_number > 0:
        return feed.append_step(handle, snapshot, 0)
    reason = "the snapshot before it has expired, so that the rows which it changed are not known any more"
    raise _refused(target.name, snapshot.snapshot_id, f"{reason}. Change the rows by DML")


def _require_columns(table: TableName, metadata: TableMetadata, snapshot: Snapshot, parent: Snapshot) -> None:
    """Raises AnalysisError UNDO_NOT_POSSIBLE if removed rows had columns that the table has not any more."""
    before = metadata.schema() if parent.schema_id is None else metadata.schemas_by_id()[parent.schema_id]
    dropped = sorted({*before.field_ids} - {*metadata.schema().field_ids})
    if dropped:
        names = ", ".join(path_text(before.column_path(id)) for id in dropped)
        reason = f"rows that it removed had the columns {names}, which were dropped since. Change the rows by DML"
        raise _refused(table, snapshot.snapshot_id, reason)


def _require_unchanged(
    spark: SparkSession, target: Target, snapshot_id: int, change: UndoneChange, later: ChangeStep
) -> None:
    """Raises AnalysisError UNDO_ROWS_CHANGED if later commits changed the rows that are to be reversed."""
    if not (later.removed or later.added or later.touched):
        return
    text = change.in_the_way(later, _NAMED_ROWS)
    log_lowered(text)
    found = [row.asDict() for row in lowered_query(spark, text).collect()]
    if found:
        rows = ", ".join(sorted(json.dumps(row, default=str, ensure_ascii=False) for row in found))
        raise AnalysisError("UNDO_ROWS_CHANGED", snapshot=snapshot_id, name=target.name, rows=rows)


def _refused(table: TableName, snapshot_id: int, reason: str) -> AnalysisError:
    return AnalysisError("UNDO_NOT_POSSIBLE", snapshot=snapshot_id, name=table, reason=reason)
