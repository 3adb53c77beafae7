"""Conversion of equality deletes to position deletes, so that scans and compactions need not look up keys."""

from __future__ import annotations

from collections.abc import Mapping

from pyroaring import BitMap64

from sqlext.command.change.row_level import Target, delete_rows
from sqlext.command.environment import Environment
from sqlext.command.write_operation import begin_write
from sqlext.commit.actions.delete_file_rewrite import RewriteDeleteFiles
from sqlext.scan.equality_delete_effects import ApplicableEqualityDeletes
from sqlext.scan.scan_plan import FileScanTask, ScanPlan
from sqlext.spec.expression import AlwaysTrue


def convert_to_position_deletes(environment: Environment, target: Target) -> bool:
    """Replaces the table's equality deletes by position deletes, in one commit; returns whether it did.

    It does not if there are none, or if the driver cannot look up all keys. Raises errors of a scan and of writing, and
    StaleRead if another commit removed a file with such a row.
    """
    version = target.version
    whole = environment.scans.plan(version, AlwaysTrue(), keep_deleted=True)
    use = environment.scans.applicable_equality_deletes(version, whole, AlwaysTrue())
    positions = _rows_deleted_by_key(environment, target, whole) if use else None
    if positions is None:
        return False
    conversion = converted(environment, target, whole, use, positions)
    environment.commit(target.name.catalog, target.table, conversion, target.destination)
    return True


def _rows_deleted_by_key(environment: Environment, target: Target, whole: ScanPlan) -> Mapping[str, BitMap64] | None:
    """Positions, by data file, of rows that only equality deletes delete; None if the driver cannot find them.

    `whole` is a plan without predicate and with `keep_deleted`.
    """
    plan = environment.scans.with_positions(target.version, whole)
    if plan is None:
        return None
    after = plan.by_path()
    found = {
        task.file.file_path: _deleted(after.get(task.file.file_path), task) - task.deleted_positions()
        for task in whole.tasks
        if task.has_equality_deletes
    }
    return {path: positions for path, positions in found.items() if positions}


def _deleted(task: FileScanTask | None, of: FileScanTask) -> BitMap64:
    """Deleted positions of a file; all positions if no task is left for it."""
    return BitMap64(range(of.file.record_count)) if task is None else task.deleted_positions()


def converted(
    environment: Environment,
    target: Target,
    whole: ScanPlan,
    use: ApplicableEqualityDeletes,
    positions: Mapping[str, BitMap64],
) -> RewriteDeleteFiles:
    """Writes the position deletes and returns the action. The files are deleted if writing fails."""
    snapshot = target.version.snapshot
    assert snapshot is not None
    operation = begin_write(target.table.metadata, target.version.io, str(target.name), environment.rng)
    with operation.cleaned_on_failure():
        partitions = {task.file.file_path: (task.spec_id, task.partition) for task in whole.tasks}
        deletes = delete_rows(operation, positions, partitions)
    return RewriteDeleteFiles(
        (*use.live, *use.dead),
        snapshot.snapshot_id,
        delete_files=deletes.files,
        deleted_rows=deletes.rows,
        referenced_data_files=frozenset(positions),
    )
