"""Metadata delete: data files of which all rows match are removed without being read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyroaring import BitMap64
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from sqlext.command.change.row_change import RowChange, change_query
from sqlext.command.change.row_level import Target, commit_change, delete_rows
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.plan.change_plan import Writer
from sqlext.command.write_operation import WriteOperation, begin_write
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.overwrite_rows import OverwriteRows
from sqlext.commit.loop.transaction import CommitOutcome
from sqlext.scan.filter.file_filter import FileFilter
from sqlext.scan.scan_plan import FileScanTask, deletes_all_rows
from sqlext.spark.query.lowered_sql import log_lowered
from sqlext.spark.query.write_job import find_positions
from sqlext.spec.expression import Predicate


@dataclass(frozen=True, slots=True)
class CoveredFiles:
    """The files that may match: all rows of `whole` do, and `undecided` must be read.

    The commit determines the `whole` files again, on the snapshot that it is based on.
    """

    whole: Sequence[FileScanTask]
    undecided: Sequence[FileScanTask]


def covered_files(environment: Environment, target: Target, row_filter: Predicate) -> CoveredFiles:
    """The files to delete, by partitions and bounds; `row_filter` selects exactly the rows to delete."""
    metadata = target.table.metadata
    files = FileFilter(row_filter, schema=metadata.schema(), specs=metadata.specs_by_id())
    whole: list[FileScanTask] = []
    undecided: list[FileScanTask] = []
    for task in environment.scans.plan(target.version, row_filter).tasks:
        (whole if files.file_must_match(task.file) else undecided).append(task)
    return CoveredFiles(whole, undecided)


def delete_everything(
    environment: Environment, spark: SparkSession, target: Target, change: RowChange, writer: Writer
) -> Counts:
    """Removes all files, delete files and concurrently added ones included; see `CarryOut`."""
    live = _count(spark, target.relation)
    if target.version.snapshot is None:
        return Counts(deleted=live)
    outcome = commit_change(environment, target, OverwriteFiles(delete_all=True))
    return Counts(deleted=_removed(spark, target, outcome, live))


def metadata_delete(
    environment: Environment, spark: SparkSession, target: Target, change: RowChange, writer: Writer
) -> Counts:
    """Removes covered files, and deletes rows of other files by position; see `CarryOut`. The change has a row filter.

    A concurrently added file is removed too if all its rows match; if some may match, it is a conflict.
    """
    row_filter = change.row_filter
    if row_filter is None:
        raise ValueError("a deletion by metadata needs a row filter")
    covered = covered_files(environment, target, row_filter)
    if not (covered.whole or covered.undecided):
        return Counts()
    deleted = _live_rows(spark, target, covered.whole)
    operation = begin_write(target.table.metadata, target.version.io, str(target.name), environment.rng)
    with operation.cleaned_on_failure():
        positions = _positions(spark, change, covered.undecided)
        action = covered_removal(target, operation, row_filter, covered, positions)
    deleted += sum(len(bitmap) for bitmap in positions.values())
    if action is None:
        return Counts(deleted=deleted)
    return Counts(deleted=_removed(spark, target, commit_change(environment, target, action), deleted))


def covered_removal(
    target: Target,
    operation: WriteOperation,
    row_filter: Predicate,
    covered: CoveredFiles,
    positions: Mapping[str, BitMap64],
) -> OverwriteRows | None:
    """The action that removes the covered files, and deletes the rows at `positions` of the undecided ones; None if
    nothing changes. Writes position-delete files in format version 2. Raises StorageError."""
    emptied = [task for task in covered.undecided if deletes_all_rows(task, positions)]
    partial = {
        task.file.file_path: (task.spec_id, task.partition)
        for task in covered.undecided
        if positions.get(task.file.file_path) and not deletes_all_rows(task, positions)
    }
    if not (covered.whole or emptied or partial):
        return None
    deletes = delete_rows(operation, {path: positions[path] for path in partial}, partial)
    snapshot = target.version.snapshot
    return OverwriteRows(
        row_filter,
        deleted_files=[task.file for task in emptied],
        delete_files=deletes.files,
        deleted_rows=deletes.rows,
        referenced_data_files=frozenset(partial),
        base_snapshot_id=None if snapshot is None else snapshot.snapshot_id,
    )


def _removed(spark: SparkSession, target: Target, outcome: CommitOutcome, planned: int) -> int:
    """The rows that the commit removed: those of files which others have added since the plan are among them."""
    planned_on, snapshot = target.version.snapshot, outcome.snapshot
    parent = None if snapshot is None else snapshot.parent_snapshot_id
    if snapshot is None or parent is None or planned_on is None or parent == planned_on.snapshot_id:
        return planned
    before, after = (_count(spark, target.relation_at(outcome.table, id)) for id in (parent, snapshot.snapshot_id))
    return before - after


def _count(spark: SparkSession, relation: str) -> int:
    return int(spark.sql(f"SELECT count(*) FROM {relation}").collect()[0][0])


def _live_rows(spark: SparkSession, target: Target, tasks: Sequence[FileScanTask]) -> int:
    """The number of live rows; Spark counts those of files with equality deletes."""
    by_key = [task.file.file_path for task in tasks if task.has_equality_deletes]
    known = sum(task.file.record_count - task.deleted_rows for task in tasks if not task.has_equality_deletes)
    if not by_key:
        return known
    rows = spark.sql(f"SELECT `_file` FROM {target.relation}").where(F.col("_file").isin(by_key))
    return known + int(rows.count())


def _positions(spark: SparkSession, change: RowChange, tasks: Sequence[FileScanTask]) -> Mapping[str, BitMap64]:
    if not tasks:
        return {}
    log_lowered(change.lowered)
    selected = change_query(spark, change).where(F.col("_file").isin([task.file.file_path for task in tasks]))
    return find_positions(selected).positions
