"""The target of a row-level statement, and the row delta of new files and deleted positions that it commits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyroaring import BitMap64
from pyspark.sql import SparkSession

from sqlext.catalog.catalog import LoadedTable
from sqlext.command.change.destination import destination, written_branch
from sqlext.command.change.given_identities import identities_to_give
from sqlext.command.change.read_set import ReadSet
from sqlext.command.change.rerun_limit import has_reruns_left
from sqlext.command.changelog.changelog_recorder import recorder_of
from sqlext.command.environment import Environment, StatementCommit
from sqlext.command.write_operation import WriteOperation
from sqlext.commit.action import MAIN, Action, Destination
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.batch_commit import CommitOnce
from sqlext.commit.actions.recorded_action import RecordedAction, Recorder
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.actions.schema_change import WriteWithSchema
from sqlext.commit.loop.transaction import CommitOutcome
from sqlext.commit.snapshot.deletion_vectors import DeletedRows
from sqlext.commit.state.identity_change import counting
from sqlext.errors import AnalysisError, StaleRead, ValidationConflict
from sqlext.scan.scan_plan import FileScanTask, deletes_all_rows
from sqlext.spark.catalog.remembered_metadata import HeldMetadata
from sqlext.spark.catalog.session_catalogs import TableVersion, handle_of
from sqlext.spark.catalog.time_travel import Pin, travel
from sqlext.spark.query.write_job import WrittenFiles
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.reference import MAIN_BRANCH
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.reserved_columns import require_writable_names
from sqlext.sql.statements.statement import TableName
from sqlext.sql.tokens.quoting import quote_identifier, quote_string
from sqlext.thresholds import Thresholds
from sqlext.write.delete_writer import write_position_deletes
from sqlext.write.write_plan import WritePlan


@dataclass(frozen=True, slots=True)
class Target:
    """The table that a statement changes, at the version that its SELECT reads and that its commit is based on.

    `name` is as written, maybe with a branch. If the statement adds columns, `table` has them, `grown_from` is the
    catalog's version without them, and `held` keeps the new metadata, which has no file, in the cache. `settings`
    override table properties when the statement writes files, as those with the state of identity columns. `overtaken`
    is the conflict that ended the previous run. If the statement tells rows apart by other columns than a key of the
    table, they are the key in `table`, and `as_stored` is the catalog's version.
    `as_committed` wraps the statement's action before the commit; `recorder` records its changelog.
    """

    name: TableName
    table: LoadedTable
    version: TableVersion
    destination: Destination = MAIN
    grown_from: LoadedTable | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    overtaken: StaleRead | None = None
    as_committed: Callable[[Action], Action] | None = None
    recorder: Recorder | None = None
    held: HeldMetadata | None = None
    as_stored: LoadedTable | None = None

    @property
    def written_as(self) -> TableMetadata:
        """The metadata by which the statement writes files, with `settings`."""
        metadata = self.table.metadata
        return replace(metadata, properties={**metadata.properties, **self.settings}) if self.settings else metadata

    @property
    def relation(self) -> str:
        """The table in lowered SQL, pinned to this version."""
        file, branch = self.table.metadata_location.rpartition("/")[2], self.destination.branch
        return self._at(Pin(file, None if branch == MAIN_BRANCH else branch))

    def relation_at(self, table: LoadedTable, snapshot_id: int) -> str:
        """The rows of a snapshot of a later version of the table, in lowered SQL."""
        return self._at(Pin(table.metadata_location.rpartition("/")[2], snapshot_id=snapshot_id))

    def _at(self, pin: Pin) -> str:
        return f"{'.'.join(quote_identifier(p) for p in self.name.parts)} VERSION AS OF {quote_string(pin.version)}"


def commit_change(environment: Environment, target: Target, action: Action) -> CommitOutcome:
    """Commits `action` to the target, together with the state of identity columns, the columns that the statement adds
    and the batch that it is; what came of it.

    Raises BatchRanBefore if the target has the batch, and otherwise as `Environment.commit`, but ValidationConflict in
    the place of StaleRead if no reruns are left.
    """
    base, is_append = target.as_stored or target.table, isinstance(action, AppendFiles)
    action = counting(action, base.metadata, target.written_as)
    if target.grown_from is not None:
        base = target.grown_from
        key = base.metadata.schema().identifier_field_ids
        schema = replace(target.table.metadata.schema(), identifier_field_ids=key)
        action = WriteWithSchema(action, schema, base.metadata.current_schema_id, base.metadata.last_column_id)
    if target.as_committed is not None:
        action = target.as_committed(action)
    if environment.batch is not None:
        action = CommitOnce(environment.batch.run, action)
    if target.recorder is not None and target.destination.wap_id is None:
        action = RecordedAction(action, target.recorder)
    try:
        outcome = environment.commit(target.name.catalog, base, action, target.destination)
        if environment.committed is not None:
            environment.committed(StatementCommit(target.name.catalog, base, action, target.destination, is_append))
        if environment.batch is not None:
            environment.batch.is_recorded = True
    except StaleRead as conflict:
        if may_rerun(environment, target):
            raise
        raise conflict.as_kind(ValidationConflict) from None
    return outcome


def with_key(metadata: TableMetadata, ids: Sequence[int]) -> TableMetadata:
    """The metadata as if its current schema had the key of these field ids, which may be optional; not to be
    committed."""
    keyed = replace(metadata.schema(), identifier_field_ids=tuple(ids))
    schemas = tuple(keyed if one.schema_id == keyed.schema_id else one for one in metadata.schemas)
    return replace(metadata, schemas=schemas)


def may_rerun(environment: Environment, target: Target) -> bool:
    """Whether the statement has reruns left, see `rerun_limit`."""
    overtaken, properties = environment.overtaken, target.table.metadata.properties
    if overtaken is None:
        return has_reruns_left(properties, 0, 0)
    return has_reruns_left(properties, overtaken.times, environment.clock() - overtaken.first_ms)


def load_target(environment: Environment, spark: SparkSession, name: TableName, branch: str | None = None) -> Target:
    """The newest version of the table, at the branch to write: `branch`, that of the name, or that of the session.

    Raises AnalysisError for a tag, a snapshot or a metadata table, for two different branches, and for a table with a
    column of a reserved name; NotFoundError for a missing table; BatchRanBefore if the table has the statement's batch.
    """
    place, table = environment.catalogs.locate(name.parts)
    if environment.batch is not None:
        environment.batch.run.require_first(table.metadata, str(name))
    if not place.is_head:
        raise AnalysisError("PLACE_READ_ONLY", name=name)
    require_writable_names((field.name for field in table.metadata.schema().fields), str(name))
    state = identities_to_give(environment, name.catalog, table)
    handle = travel(handle_of(name.catalog, table), table.metadata, place.at)
    to = destination(spark, table.metadata, written_branch(handle.branch, branch, str(name)), str(name))
    overtaken = None if environment.overtaken is None else environment.overtaken.conflict
    version = environment.version(name.catalog, table, to.branch)
    recorder = recorder_of(environment, spark, name.catalog, table)
    return Target(name, table, version, to, settings=state, overtaken=overtaken, recorder=recorder)


def load_whole_target(environment: Environment, spark: SparkSession, name: TableName) -> Target:
    """The target of a change to the whole table, such as its key. Raises as `Catalogs.load` and `load_target`."""
    environment.catalogs.load(name.parts)
    return load_target(environment, spark, name)


def has_row_ids(target: Target) -> bool:
    """Whether rewritten rows keep their row ids, in a column after the table's (spec: Row Lineage)."""
    return target.table.metadata.format_version > 2


def written_plan(target: Target, operation: WriteOperation) -> WritePlan:
    """The plan of files of new rows, with their row ids if the table has some."""
    return operation.plan.with_row_ids() if has_row_ids(target) else operation.plan


def row_delta(
    environment: Environment,
    target: Target,
    operation: WriteOperation,
    written: WrittenFiles,
    *,
    read_set: ReadSet,
    isolation: str,
) -> RowDelta | None:
    """The action that adds the new files and deletes the positions; None if there are neither.

    Writes position-delete files in format version 2. Data files without remaining rows are removed instead, see
    `files_to_drop`. Raises StorageError.
    """
    positions = {path: bitmap for path, bitmap in written.positions.items() if bitmap}
    if not (written.data_files or written.delete_files or positions):
        return None
    tasks = touched_files(environment, target, positions)
    partitions = {task.file.file_path: (task.spec_id, task.partition) for task in tasks}
    dropped: Sequence[ContentFile] = ()
    if tasks:
        listed = environment.scans.data_file_count(target.version)
        dropped = files_to_drop(tasks, positions, listed, environment.planning.thresholds)
    gone = {file.file_path for file in dropped}
    marked = {path: bitmap for path, bitmap in positions.items() if path not in gone}
    deletes = delete_rows(operation, marked, partitions)
    snapshot = target.version.snapshot
    return RowDelta(
        data_files=written.data_files,
        delete_files=(*written.delete_files, *deletes.files),
        deleted_rows={path: DeletedRows(*partitions[path], positions[path]) for path in positions},
        referenced_data_files=frozenset(positions),
        base_snapshot_id=None if snapshot is None else snapshot.snapshot_id,
        read_filter=read_set.added,
        needed_filter=read_set.removed,
        isolation=isolation,
        unique_key=target.table.metadata.schema().identifier_field_ids if read_set.keys_unique else (),
        deleted_files=dropped,
    )


@dataclass(frozen=True, slots=True)
class PositionDeletes:
    """Deleted rows by the table's format version: position-delete files, or positions for the commit's deletion
    vectors."""

    files: Sequence[ContentFile] = ()
    rows: Mapping[str, DeletedRows] = field(default_factory=dict)


def delete_rows(
    operation: WriteOperation,
    positions: Mapping[str, BitMap64],
    partitions: Mapping[str, tuple[int, tuple[Any, ...]]],
) -> PositionDeletes:
    """Deletes of `positions` by data file path; `partitions` has each path's spec id and partition. Raises
    StorageError."""
    if operation.plan.format_version > 2:
        return PositionDeletes(rows={path: DeletedRows(*partitions[path], positions[path]) for path in positions})
    return PositionDeletes(write_position_deletes(operation.io, operation.plan, positions, partitions))


class DeletedRowsWriter:
    """Writes deleted rows of data files to position-delete files of an operation, each time to others."""

    def __init__(self, operation: WriteOperation) -> None:
        self._operation = operation
        self._times = 0

    def __call__(self, rows: Mapping[str, DeletedRows]) -> Sequence[ContentFile]:
        """Position-delete files of format version 2. Raises StorageError."""
        self._times += 1
        plan = self._operation.plan
        plan = replace(plan, operation_id=f"{plan.operation_id}-{self._times}")
        positions = {path: one.positions for path, one in rows.items()}
        partitions = {path: (one.spec_id, one.partition) for path, one in rows.items()}
        return write_position_deletes(self._operation.io, plan, positions, partitions)


def touched_files(
    environment: Environment, target: Target, positions: Mapping[str, BitMap64]
) -> Sequence[FileScanTask]:
    """The data files that have a live row at one of `positions`."""
    paths = {path for path, bitmap in positions.items() if bitmap}
    return environment.scans.plan_files_at(target.version, paths)


def files_to_drop(
    touched: Sequence[FileScanTask], positions: Mapping[str, BitMap64], listed: int, limits: Thresholds
) -> Sequence[ContentFile]:
    """Those of the data files `touched` without a live row once the rows at `positions` are deleted. Empty if they are
    too few of the `listed` data files of the table: their removal rewrites manifests."""
    whole = [task.file for task in touched if deletes_all_rows(task, positions)]
    return whole if listed <= limits.relisted_files + limits.relisted_files_per_drop * len(whole) else ()
