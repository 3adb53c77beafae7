"""Changes of rows whose positions are known: written and committed by the way of a plan, as in Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
from pyroaring import BitMap64

from sqlext.command.change.auto import rewrites_files
from sqlext.command.change.distribution import keeps_order
from sqlext.command.change.read_set import ReadSet
from sqlext.command.change.row_level import Target, commit_change, has_row_ids, row_delta, written_plan
from sqlext.command.compaction.row_sort import RowSort, can_sort_in_memory
from sqlext.command.environment import Environment
from sqlext.command.plan.change_plan import COPIES, ChangePlan, Way
from sqlext.command.write_operation import WriteOperation, begin_write
from sqlext.commit.action import Action
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.errors import UnsupportedError
from sqlext.local.constraint_check import with_violations
from sqlext.local.local_scan import columns_of, read_rows
from sqlext.scan.scan_plan import FileScanTask, deletes_all_rows
from sqlext.spark.query.write_job import WrittenFiles, task_identity, write_on_driver
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.manifests.row_lineage import LAST_UPDATED, ROW_ID
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.types import UnknownType
from sqlext.write.task import write_rows


@dataclass(frozen=True, slots=True)
class PositionChange:
    """Live rows to delete, as `positions` by data file, and `new` rows in the table's columns.

    `row_ids`, of a table with row ids, has for each new row that of the row that it replaces, or null.
    """

    positions: Mapping[str, BitMap64]
    new: pa.Table
    row_ids: pa.Array | None = None


def begin(environment: Environment, target: Target) -> WriteOperation:
    """A new operation on the target."""
    return begin_write(target.written_as, target.version.io, str(target.name), environment.rng)


def carry_out(
    environment: Environment,
    target: Target,
    change: PositionChange,
    plan: ChangePlan,
    read_set: ReadSet,
    isolation: str,
) -> None:
    """Writes and commits the change. Raises as `row_delta` and `commit_change`, and UnsupportedError
    LOCAL_NEEDS_SPARK."""
    operation = begin(environment, target)
    with operation.cleaned_on_failure():
        action: Action | None
        if _replaces_files(environment, target, change, plan):
            action = _replacement(environment, target, operation, change, read_set, isolation)
        else:
            written = replace(_written(target, operation, change), positions=dict(change.positions))
            action = row_delta(environment, target, operation, written, read_set=read_set, isolation=isolation)
    if action is not None:
        commit_change(environment, target, action)


def _replaces_files(environment: Environment, target: Target, change: PositionChange, plan: ChangePlan) -> bool:
    if plan.way in COPIES:
        return True
    decides = plan.way is Way.AUTO or plan.rewrites is not None
    return decides and rewrites_files(environment, target, change.positions)


def in_order(rows: pa.Table, metadata: TableMetadata) -> pa.Table:
    """The rows, which begin with the table's columns, in its sort order. Raises UnsupportedError LOCAL_NEEDS_SPARK."""
    if not keeps_order(metadata) or rows.num_rows < 2:
        return rows
    sort = RowSort(metadata.schema(), metadata.sort_order())
    if not can_sort_in_memory(sort):
        raise UnsupportedError("LOCAL_NEEDS_SPARK", what="The write", reason="only Spark sorts by the table's order")
    return sort.sorted(rows)


def _written(target: Target, operation: WriteOperation, change: PositionChange) -> WrittenFiles:
    if not change.new.num_rows:
        return WrittenFiles()
    rows = change.new
    if has_row_ids(target):
        ids = pa.nulls(rows.num_rows, pa.int64()) if change.row_ids is None else change.row_ids
        rows = rows.append_column(ROW_ID.name, ids)
    rows = with_violations(in_order(rows, target.table.metadata), operation.plan)
    return write_on_driver(rows, write_rows(written_plan(target, operation), task_identity=task_identity))


def _replacement(
    environment: Environment,
    target: Target,
    operation: WriteOperation,
    change: PositionChange,
    read_set: ReadSet,
    isolation: str,
) -> OverwriteFiles | None:
    """The action that replaces the files that lose rows by new ones; None if nothing changes."""
    touched = _touched(environment, target, change)
    if not touched and not change.new.num_rows:
        return None
    lineage, metadata = has_row_ids(target), target.table.metadata
    plan = operation.plan.with_row_lineage() if lineage else operation.plan
    new = change.new
    if lineage:
        ids = pa.nulls(new.num_rows, pa.int64()) if change.row_ids is None else change.row_ids
        new = new.append_column(ROW_ID.name, ids).append_column(LAST_UPDATED.name, pa.nulls(new.num_rows, pa.int64()))
    kept = [task for task in touched if not deletes_all_rows(task, change.positions)]
    checked = with_violations(new, operation.plan)
    shape = checked.schema
    rows = (_like(batch, shape) for task in kept for batch in _remaining(target, task, change))
    if keeps_order(metadata):
        batches = iter(in_order(pa.Table.from_batches([*rows, *checked.to_batches()], shape), metadata).to_batches())
    else:
        batches = _chained(rows, checked)
    added = write_on_driver(batches, write_rows(plan, task_identity=task_identity)).data_files
    snapshot = target.version.snapshot
    return OverwriteFiles(
        added,
        deleted_files=[task.file for task in touched],
        base_snapshot_id=None if snapshot is None else snapshot.snapshot_id,
        read_filter=read_set.added,
        needed_filter=read_set.removed,
        isolation=isolation,
        unique_key=metadata.schema().identifier_field_ids if read_set.keys_unique else (),
    )


def _chained(kept: Iterator[pa.RecordBatch], new: pa.Table) -> Iterator[pa.RecordBatch]:
    yield from kept
    yield from new.to_batches()


def _touched(environment: Environment, target: Target, change: PositionChange) -> list[FileScanTask]:
    """The files that lose rows, with equality deletes as positions."""
    paths = {path for path, positions in change.positions.items() if positions}
    if not paths:
        return []
    plan = environment.scans.plan(target.version, AlwaysTrue(), paths=paths)
    found = environment.scans.with_positions(target.version, plan)
    assert found is not None, "the rows to delete were found by a plan that has no other deletes"
    return list(found.tasks)


def _remaining(target: Target, task: FileScanTask, change: PositionChange) -> Iterator[pa.RecordBatch]:
    gone = task.deleted_positions() | change.positions[task.file.file_path]
    left = replace(task, position_deletes=gone.serialize(), deleted_rows=len(gone))
    fields = [field for field in target.version.schema.fields if not isinstance(field.type, UnknownType)]
    yield from read_rows(target.version, left, columns_of(fields), lineage=has_row_ids(target))


def _like(batch: pa.RecordBatch, shape: pa.Schema) -> pa.RecordBatch:
    """The batch with the columns of `shape`; one that it lacks is null, such as one of type unknown."""
    there = set(batch.schema.names)
    columns = [batch.column(f.name) if f.name in there else pa.nulls(batch.num_rows, f.type) for f in shape]
    return pa.RecordBatch.from_arrays(columns, names=shape.names)
