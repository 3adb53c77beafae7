"""Copy-on-write: data files with a changed row are replaced by new files, which also have the unchanged rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from sqlext.command.change.copied_by_query import ColumnsLeftOut, copied_by_query
from sqlext.command.change.copied_by_tasks import columns_left_out, copied_by_tasks
from sqlext.command.change.enforced_key import Removed, require_unique_keys
from sqlext.command.change.file_copies import FileCopies
from sqlext.command.change.materialized_change import MaterializedChange, materialize_change
from sqlext.command.change.row_change import RowChange, changed_counts
from sqlext.command.change.row_level import Target, commit_change, touched_files
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.plan.change_plan import Writer
from sqlext.command.write_operation import WriteOperation, begin_write
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.scan.scan_plan import FileScanTask
from sqlext.spark.query.write_job import WrittenFiles


def copy_on_write(
    environment: Environment, spark: SparkSession, target: Target, change: RowChange, writer: Writer
) -> Counts:
    """Replaces data files, in any format version; see `CarryOut`.

    The SELECT is evaluated once and cached, since both the deleted positions and the new rows are read from it; only
    where no task can read a file that it finds, it is evaluated again, with all columns. A file that loses all rows
    and gets no new one is not read again. Equality-delete files stay, for other files that they apply to.
    """
    operation = begin_write(target.written_as, target.version.io, str(target.name), environment.rng)
    with operation.cleaned_on_failure():
        try:
            left_out = columns_left_out(target, change)
            found, action = _replacement(environment, spark, target, operation, change, writer, left_out)
        except ColumnsLeftOut:
            found, action = _replacement(environment, spark, target, operation, change, writer, ())
    if action.added or action.deleted_files:
        commit_change(environment, target, action)
    return changed_counts(found)


def _replacement(
    environment: Environment,
    spark: SparkSession,
    target: Target,
    operation: WriteOperation,
    change: RowChange,
    writer: Writer,
    left_out: Sequence[str],
) -> tuple[WrittenFiles, OverwriteFiles]:
    """The changed rows, and the action of `replace_files`. Raises ColumnsLeftOut if the columns `left_out` are
    needed."""
    cached = materialize_change(spark, target, operation, change, writer, left_out)
    touched = touched_files(environment, target, cached.found.positions)
    return cached.found, replace_files(environment, spark, target, change, writer, cached, touched)


def replace_files(
    environment: Environment,
    spark: SparkSession,
    target: Target,
    change: RowChange,
    writer: Writer,
    cached: MaterializedChange,
    touched: Sequence[FileScanTask],
) -> OverwriteFiles:
    """Writes the new files; returns the action that replaces `touched`, the files that lose a row.

    Raises DataError DUPLICATE_KEY or KEY_ALREADY_EXISTS for an ENFORCED key, and ColumnsLeftOut as `copied_by_query`.
    """
    copies = FileCopies(target, change, cached, touched)
    added = copied_by_tasks(environment, spark, copies, writer)
    if added is None:
        # The number of rows that stay is not known, so only a result that is estimated to be small goes to the driver.
        added = copied_by_query(environment, spark, copies, replace(writer, tried_rows=0))
    if not (change.distinct_keys or change.keeps_keys):
        removed = Removed(paths=frozenset(task.file.file_path for task in touched))
        require_unique_keys(environment, spark, target, added, removed)
    snapshot = target.version.snapshot
    return OverwriteFiles(
        added,
        deleted_files=[task.file for task in touched],
        base_snapshot_id=None if snapshot is None else snapshot.snapshot_id,
        read_filter=cached.read_set.added,
        needed_filter=cached.read_set.removed,
        isolation=change.isolation,
        unique_key=target.table.metadata.schema().identifier_field_ids if cached.read_set.keys_unique else (),
    )
