"""Rows in a table's columns, written and committed: as an append, or with the removal that an overwrite asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pyroaring import BitMap64
from pyspark.sql import DataFrame, SparkSession

from sqlext.command.change.checked_rows import with_violations
from sqlext.command.change.distribution import in_distribution, write_distributed
from sqlext.command.change.enforced_key import Removed, is_enforced, require_unique_keys
from sqlext.command.change.row_level import Target, commit_change
from sqlext.command.dml.replaced_rows import remove_rows
from sqlext.command.dml.write_mode import WriteMode
from sqlext.command.environment import Environment
from sqlext.command.plan.change_plan import Writer
from sqlext.command.write_operation import WriteOperation, begin_write
from sqlext.commit.action import Action
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.overwrite_rows import OverwriteRows
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.scan.filter.file_filter import FileFilter, partition_key
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spark.query.packed_rows import why_by_query
from sqlext.spark.query.write_job import SourceFiles, WrittenFiles, task_identity
from sqlext.spec.expression import AlwaysTrue, Predicate
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO
from sqlext.write.task import write_rows


def write_rows_to(environment: Environment, target: Target, rows: DataFrame, mode: WriteMode, writer: Writer) -> int:
    """Writes and commits rows that have the table's columns, by the writer of a plan. Returns the number of rows.

    Raises as `commit_written` and `write_files`.
    """

    def write(operation: WriteOperation) -> WrittenFiles:
        return write_files(environment, operation, target.written_as, rows, writer)

    return commit_written(environment, rows.sparkSession, target, mode, write)


def commit_written(
    environment: Environment,
    spark: SparkSession,
    target: Target,
    mode: WriteMode,
    write: Callable[[WriteOperation], WrittenFiles],
) -> int:
    """Commits the files of `write`, and returns the number of their rows. A failure removes them.

    Raises DataError for an enforced key that is not unique, and as `commit_change`.
    """
    operation = begin_write(target.written_as, target.version.io, str(target.name), environment.rng)
    with operation.cleaned_on_failure():
        removal: OverwriteRows | None = None
        positions: Mapping[str, BitMap64] = {}
        if mode.replaced is not None:
            removal, positions = remove_rows(environment, spark, target, operation, mode.replaced)
        files = write(operation).data_files
        removed = _removed(environment, target, mode, files, removal, positions)
        read = require_unique_keys(environment, spark, target, files, removed)
        action = _action(target, files, mode, read) if removal is None else _overwrite(removal, files, read)
    if action is not None:
        commit_change(environment, target, action)
    return sum(file.record_count for file in files)


def write_files(
    environment: Environment, operation: WriteOperation, metadata: TableMetadata, rows: DataFrame, writer: Writer
) -> WrittenFiles:
    """Writes the rows to data files by the writer of a plan. Raises DataError for a violated constraint, and
    StorageError."""
    rows = with_violations(rows, operation.plan)
    source = _source(environment, operation) if writer.reads_files else None
    task = write_rows(operation.plan, task_identity=task_identity, may_leave=source is not None)
    return write_distributed(rows, metadata, task, writer, source=source)


def explained_source(environment: Environment, target: Target, rows: DataFrame, writer: Writer) -> str:
    """Who reads the files of a query if tasks write its rows, in words."""
    if not writer.reads_files:
        return "tasks get rows from Spark: sqlext.plan.force says so"
    plan = begin_write(target.written_as, target.version.io, str(target.name), environment.rng).plan
    why = why_by_query(in_distribution(with_violations(rows, plan), target.written_as))
    if why is None:
        return "tasks read the files of the query themselves"
    return f"tasks get rows from Spark: {why}"


def _source(environment: Environment, operation: WriteOperation) -> SourceFiles:
    catalogs = environment.catalogs

    def stores(handles: Sequence[str]) -> Mapping[str, FileIO]:
        return {handle: catalogs.store(TableHandle.decode(handle)) for handle in handles}

    return SourceFiles(stores, operation.discard)


def _removed(
    environment: Environment,
    target: Target,
    mode: WriteMode,
    files: Sequence[ContentFile],
    removal: OverwriteRows | None,
    positions: Mapping[str, BitMap64],
) -> Removed:
    """The rows that the write removes. Only an enforced key needs the files; without one, they are not listed."""
    if mode.mode == "overwrite" or not is_enforced(target.table.metadata):
        return Removed(everything=mode.mode == "overwrite")
    if removal is not None:
        gone = {file.file_path for file in removal.deleted_files}
        if removal.row_filter is not None:
            metadata = target.table.metadata
            whole = FileFilter(removal.row_filter, schema=metadata.schema(), specs=metadata.specs_by_id())
            tasks = environment.scans.plan(target.version, removal.row_filter).tasks
            gone |= {task.file.file_path for task in tasks if whole.file_must_match(task.file)}
        return Removed(paths=frozenset(gone), positions=positions)
    if mode.mode == "append":
        return Removed()
    tasks = environment.scans.plan(target.version, AlwaysTrue()).tasks
    partitions = {partition_key(file) for file in files}
    return Removed(paths=frozenset(t.file.file_path for t in tasks if partition_key(t.file) in partitions))


def _action(target: Target, files: Sequence[ContentFile], mode: WriteMode, read: Predicate | None) -> Action | None:
    """The action; None if nothing changes. `read` selects rows that conflict if another commit adds them."""
    snapshot = target.version.snapshot
    base = None if snapshot is None else snapshot.snapshot_id
    if mode.mode == "overwrite":
        return OverwriteFiles(files, delete_all=True)
    if not files:
        return None
    if mode.mode == "append" and read is None:
        return AppendFiles(files)
    if mode.mode == "append":
        key = target.table.metadata.schema().identifier_field_ids
        return RowDelta(files, base_snapshot_id=base, unique_key=key)
    partitions = frozenset((file.spec_id, file.partition) for file in files)
    return OverwriteFiles(files, partitions=partitions, base_snapshot_id=base, read_filter=read)


def _overwrite(removal: OverwriteRows, files: Sequence[ContentFile], read: Predicate | None) -> Action | None:
    """The action; None if nothing changes. With a filter it is made in any case: another commit may add such rows
    first."""
    gone = removal.deleted_files or removal.rewritten_files or removal.referenced_data_files
    if not (files or gone) and removal.row_filter is None:
        return None
    return replace(removal, added=(*files, *removal.added), read_filter=read)
