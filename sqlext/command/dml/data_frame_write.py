"""Writes of a DataFrame to a table, by INSERT, CTAS and the DataFrame API."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pyroaring import BitMap64
from pyspark.sql import DataFrame, SparkSession

from sqlext.command.change.destination import written_branch
from sqlext.command.change.distribution import write_distributed
from sqlext.command.change.enforced_key import Removed, is_enforced, require_unique_keys
from sqlext.command.change.held_rows import hold
from sqlext.command.change.rerun import run_until_not_overtaken
from sqlext.command.change.row_level import Target, commit_change, load_target
from sqlext.command.change.schema_evolution import changes_for_rows, grown, merges_schema
from sqlext.command.compaction.compaction import compact_after_commit
from sqlext.command.dml.replaced_rows import ReplacedRows, take_out
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.plan.change_plan import Writer
from sqlext.command.plan.planner import plan_insert
from sqlext.command.upsert.change_batch import align_changes, row_kind_column
from sqlext.command.upsert.upsert import require_upsertable, upsert
from sqlext.command.write_operation import WriteOperation, begin_write
from sqlext.commit.action import Action
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.overwrite_rows import OverwriteRows
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.rules.merge_rules import has_merge_engine
from sqlext.errors import AnalysisError, UnsupportedError
from sqlext.properties import MERGE_ENGINE, ROWKIND_FIELD, UPSERT_ENABLED
from sqlext.scan.filter.file_filter import FileFilter, partition_key
from sqlext.spark.catalog.frame_options import WriteOptions, write_options
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spark.query.store_assignment import align
from sqlext.spark.query.write_job import WrittenFiles, task_identity
from sqlext.spark.scan.pushdown import exact_predicate
from sqlext.spark.session.session_settings import is_case_sensitive
from sqlext.spec.expression import AlwaysTrue, Predicate
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.sql.statements.statement import TableName
from sqlext.write.task import write_rows

Mode = Literal["append", "overwrite", "overwrite partitions", "overwrite where"]


@dataclass(frozen=True, slots=True)
class WriteMode:
    """The mode of a write; `replaced` are the rows that "overwrite where" replaces."""

    mode: Mode
    replaced: ReplacedRows | None = None


def write_data_frame(
    environment: Environment, spark: SparkSession, arguments: Mapping[str, Any], rows: DataFrame
) -> Counts:
    """Runs a DataFrame write, or a statement that Spark plans as one, described by the shim's `arguments`.

    Raises as an INSERT does, and as `write_options`.
    """
    if arguments["mode"] == "append":
        return run_until_not_overtaken(
            environment, _written_name(arguments).parts, lambda now: _write_once(now, spark, arguments, rows)
        )
    return _write_once(environment, spark, arguments, rows)


def _write_once(environment: Environment, spark: SparkSession, arguments: Mapping[str, Any], rows: DataFrame) -> Counts:
    handle, name = TableHandle.decode(arguments["table"]), _written_name(arguments)
    options = write_options(arguments["options"])
    target = with_options(load_target(environment, spark, name, _branch(handle, options)), options)
    mode = WriteMode(asked_mode(arguments["mode"], options, target), _replaced_rows(arguments, target))
    upserts = is_upsert(target, options, overwrites=mode.mode != "append")
    by_name = bool(arguments["by_name"])
    if merges_schema(spark) if options.merge_schema is None else options.merge_schema:
        exact = is_case_sensitive(spark)
        target = grown(environment, target, changes_for_rows(target, rows, by_name=by_name), case_sensitive=exact)
    writing = environment.writing_in(options.parallelism)
    if upserts:
        kind = row_kind_column(target, rows.columns)
        counts = upsert(writing, spark, target, align_changes(spark, rows, target, by_name=by_name, kind=kind))
    else:
        rows = align(spark, rows, name.parts, target.table.metadata.schema(), by_name=by_name)
        counts = Counts(inserted=write_rows_to(writing, target, in_tasks(rows, options), mode))
    compact_after_commit(environment, spark, target)
    return counts


def _written_name(arguments: Mapping[str, Any]) -> TableName:
    """The table to write. Raises UnsupportedError PATH_TABLE_READ_ONLY for a table loaded by path."""
    handle = TableHandle.decode(arguments["table"])
    if handle.catalog is None:
        raise UnsupportedError("PATH_TABLE_READ_ONLY", name=handle.full_name)
    return TableName((handle.catalog, *handle.namespace, handle.name))


def asked_mode(mode: Mode, options: WriteOptions, target: Target) -> Mode:
    """The mode, which the option `overwrite-enabled` changes to an overwrite of the partitions of the new rows, or of
    an unpartitioned table.

    Raises UnsupportedError OPTION_NOT_SUPPORTED if the option is false and the statement an overwrite.
    """
    if options.overwrite is False and mode != "append":
        reason = "what it stands at is an overwrite"
        raise UnsupportedError("OPTION_NOT_SUPPORTED", kind="write", name="overwrite-enabled", reason=reason)
    if not options.overwrite or mode == "overwrite where":
        return mode
    return "overwrite" if target.table.metadata.spec().is_unpartitioned else "overwrite partitions"


def in_tasks(rows: DataFrame, options: WriteOptions) -> DataFrame:
    """The rows in at most `write-parallelism` tasks."""
    return rows if options.parallelism is None else rows.coalesce(options.parallelism)


def with_options(target: Target, options: WriteOptions) -> Target:
    """The target with the snapshot properties and settings of one write's options."""
    to = replace(target.destination, summary=options.summary)
    return replace(target, destination=to, settings=options.settings)


def is_upsert(target: Target, options: WriteOptions, *, overwrites: bool) -> bool:
    """Whether rows are upserted: by the option `upsert-enabled`, else by the table's `write.upsert.enabled`, or because
    it has a merge engine or a row-kind field.

    Raises AnalysisError UPSERT_WITH_OVERWRITE, MERGE_ENGINE_BYPASSED, ROW_KINDS_BYPASSED, or as `require_upsertable`.
    """
    properties = target.table.metadata.properties
    merges = has_merge_engine(properties)
    kinds = ROWKIND_FIELD.of(properties)
    enabled = merges or kinds is not None or UPSERT_ENABLED.of(properties)
    said = enabled if options.upsert is None else options.upsert
    if kinds is not None and (overwrites or not said):
        way_out = "Empty the table with DELETE, and write with INSERT" if overwrites else "Leave 'upsert-enabled' out"
        raise AnalysisError("ROW_KINDS_BYPASSED", name=target.name, column=kinds, way_out=way_out)
    if merges and not said and not overwrites:
        raise AnalysisError("MERGE_ENGINE_BYPASSED", name=target.name, engine=MERGE_ENGINE.of(properties))
    if said and overwrites:
        way_out = "Say 'upsert-enabled'='false' for this write" if enabled else "Leave 'upsert-enabled' out"
        raise AnalysisError("UPSERT_WITH_OVERWRITE", name=target.name, way_out=f"{way_out}, or do not overwrite")
    if said:
        by_option = "leave 'upsert-enabled' out"
        require_upsertable(target, by_option if options.upsert else "set write.upsert.enabled to false")
    return said


def _branch(handle: TableHandle, options: WriteOptions) -> str | None:
    """The branch in the table's name or the options. Raises AnalysisError PLACE_READ_ONLY for a snapshot."""
    if handle.snapshot_id is not None:
        raise AnalysisError("PLACE_READ_ONLY", name=handle.full_name)
    return written_branch(handle.branch, options.branch, handle.full_name)


def _replaced_rows(arguments: Mapping[str, Any], target: Target) -> ReplacedRows | None:
    if "condition" not in arguments:
        return None
    described = arguments["filter"]
    schema = target.table.metadata.schema()
    return ReplacedRows(arguments["condition"], None if described is None else exact_predicate(described, schema))


def write_rows_to(environment: Environment, target: Target, rows: DataFrame, mode: WriteMode) -> int:
    """Writes and commits rows that have the table's columns. Returns the number of rows. Raises as `commit_written` and
    `write_files`."""

    def write(operation: WriteOperation) -> WrittenFiles:
        return write_files(operation, target.written_as, rows, plan_insert(environment.planning).writer)

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
            removal, positions = take_out(environment, spark, target, operation, mode.replaced)
        files = write(operation).data_files
        removed = _removed(environment, target, mode, files, removal, positions)
        read = require_unique_keys(environment, spark, target, files, removed)
        action = _action(target, files, mode, read) if removal is None else _overwrite(removal, files, read)
    if action is not None:
        commit_change(environment, target, action)
    return sum(file.record_count for file in files)


def write_files(operation: WriteOperation, metadata: TableMetadata, rows: DataFrame, writer: Writer) -> WrittenFiles:
    """Writes the rows to data files by the writer of a plan. Raises DataError for a violated constraint, and
    StorageError."""
    rows = hold(rows, operation.plan)
    return write_distributed(rows, metadata, write_rows(operation.plan, task_identity=task_identity), writer)


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
    tasks = environment.scans.plan(target.version, AlwaysTrue()).tasks
    if removal is not None:
        gone = {file.file_path for file in removal.deleted_files}
        if removal.row_filter is not None:
            metadata = target.table.metadata
            whole = FileFilter(removal.row_filter, schema=metadata.schema(), specs=metadata.specs_by_id())
            gone |= {task.file.file_path for task in tasks if whole.file_must_match(task.file)}
        return Removed(paths=frozenset(gone), positions=positions)
    if mode.mode == "append":
        return Removed()
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
