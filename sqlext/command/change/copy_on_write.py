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
from sqlext.command.write_operation import begin_write
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.scan.scan_plan import FileScanTask
from sqlext.spec.manifests.content_file import ContentFile


def copy_on_write(
    environment: Environment, spark: SparkSession, target: Target, change: RowChange, writer: Writer
) -> Counts:
    """Replaces data files, in any format version; see `CarryOut`.

    The SELECT is evaluated once and cached, since both the deleted positions and the new rows are read from it. Only if
    tasks turn out not to read a file that it finds, or its deletes, it is evaluated again, with all columns.
    Equality-delete files stay, for other files that they apply to.
    """
    try:
        return _copied(environment, spark, target, change, writer, by_query=False)
    except ColumnsLeftOut:
        return copy_by_query(environment, spark, target, change, writer)


def copy_by_query(
    environment: Environment, spark: SparkSession, target: Target, change: RowChange, writer: Writer
) -> Counts:
    """As `copy_on_write`, with a query that reads the rows that stay."""
    return _copied(environment, spark, target, change, writer, by_query=True)


def _copied(
    environment: Environment,
    spark: SparkSession,
    target: Target,
    change: RowChange,
    writer: Writer,
    *,
    by_query: bool,
) -> Counts:
    """Evaluates the change, unless `by_query` without columns that tasks read, and commits it.

    Raises ColumnsLeftOut, with nothing committed, if a query needs these.
    """
    operation = begin_write(target.written_as, target.version.io, str(target.name), environment.rng)
    with operation.cleaned_on_failure():
        left_out = () if by_query else columns_left_out(target, change)
        cached = materialize_change(spark, target, operation, change, writer, left_out)
        touched = touched_files(environment, target, cached.found.positions)
        if by_query:
            copies = FileCopies(target, change, cached, touched)
            added = copied_by_query(environment, spark, copies, _for_query(writer))
            action = _replacement(environment, spark, copies, added)
        else:
            action = replace_files(environment, spark, target, change, writer, cached, touched)
    if action.added or touched:
        commit_change(environment, target, action)
    return changed_counts(cached.found)


def replace_files(
    environment: Environment,
    spark: SparkSession,
    target: Target,
    change: RowChange,
    writer: Writer,
    cached: MaterializedChange,
    touched: Sequence[FileScanTask],
) -> OverwriteFiles:
    """Writes the new files, by tasks if these can read the old ones; returns the action that replaces `touched`, the
    files that lose a row.

    Raises DataError DUPLICATE_KEY or KEY_ALREADY_EXISTS for an ENFORCED key, and ColumnsLeftOut as `copied_by_query`.
    """
    copies = FileCopies(target, change, cached, touched)
    added = copied_by_tasks(environment, spark, copies, writer)
    if added is None:
        added = copied_by_query(environment, spark, copies, _for_query(writer))
    return _replacement(environment, spark, copies, added)


def _for_query(writer: Writer) -> Writer:
    """The number of rows that stay is not known, so only a result that is estimated to be small goes to the driver."""
    return replace(writer, tried_rows=0)


def _replacement(
    environment: Environment, spark: SparkSession, copies: FileCopies, added: Sequence[ContentFile]
) -> OverwriteFiles:
    target, change, read_set = copies.target, copies.change, copies.cached.read_set
    if not (change.distinct_keys or change.keeps_keys):
        removed = Removed(paths=frozenset(task.file.file_path for task in copies.touched))
        require_unique_keys(environment, spark, target, added, removed)
    snapshot = target.version.snapshot
    return OverwriteFiles(
        added,
        deleted_files=[task.file for task in copies.touched],
        base_snapshot_id=None if snapshot is None else snapshot.snapshot_id,
        read_filter=read_set.added,
        needed_filter=read_set.removed,
        isolation=change.isolation,
        unique_key=target.table.metadata.schema().identifier_field_ids if read_set.keys_unique else (),
    )
