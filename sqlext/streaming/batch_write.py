"""The write of one micro-batch, and its commit together with the query's progress.

A batch's files are staged before the commit, so that a later run of the query can commit them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from sqlext.command.change.destination import written_table
from sqlext.command.change.row_level import Target, commit_change
from sqlext.command.change.schema_evolution import grown_for_rows, merges_schema
from sqlext.command.dml.row_write import write_rows_to
from sqlext.command.dml.write_mode import WriteMode, in_tasks, is_upsert
from sqlext.command.environment import Environment
from sqlext.command.plan.change_plan import Way
from sqlext.command.plan.planner import plan_insert
from sqlext.command.upsert.change_batch import align_changes, row_kind_column
from sqlext.command.upsert.equality_columns import told_apart_by
from sqlext.command.upsert.upsert import require_upsertable, upsert
from sqlext.commit.action import Action
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.staged_batch import StagedBatch, stage_batch
from sqlext.errors import AnalysisError, CommitStateUnknown, SqlextError, ValidationConflict
from sqlext.spark.query.cached_tables import renew_caches
from sqlext.spark.query.store_assignment import align
from sqlext.spec.field_path import FieldPath, path_text
from sqlext.spec.manifests.content_file import Content
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.schema import Schema
from sqlext.storage.file_io import FileIO
from sqlext.streaming.batch_figures import BatchCommit
from sqlext.streaming.micro_batch import MicroBatch
from sqlext.streaming.query_run import QueryRun
from sqlext.streaming.routed_batch import RoutedBatch
from sqlext.streaming.sink_options import require_no_other_mode

_LOG = logging.getLogger("sqlext")


@dataclass(frozen=True, slots=True)
class WrittenBatch:
    """The result of a write. `rows` is the number of rows, None if unknown; `commit` is None if there was nothing to
    commit; `targets` are the tables to be compacted, at their versions before the commit."""

    rows: int | None
    commit: BatchCommit | None
    targets: Sequence[Target] = ()


@dataclass(frozen=True, slots=True)
class BatchWrite:
    """The write of one batch of a run. `plan` is the fingerprint of the batch's plan, empty if unknown."""

    environment: Environment
    spark: SparkSession
    batch: MicroBatch
    run: QueryRun
    plan: str

    def write(self, environment: Environment, rows: DataFrame) -> WrittenBatch:
        """Writes and commits `rows`, in the environment of one run of a statement that may be rerun.

        Raises as an INSERT does. The batch's files are then removed, except for CommitStateUnknown.
        """
        target = self._target(environment)
        commit = _Commit(self, lambda action: self._staged(environment, target, action))
        try:
            written = self._written(environment, replace(target, as_committed=commit.action), rows)
        except CommitStateUnknown:
            raise
        except BaseException:
            _remove_staged(self._io(), commit.staged)
            raise
        landed = self._landed(commit)
        return WrittenBatch(written, landed, () if landed is None else (target,))

    def finish(self, staged: StagedBatch) -> WrittenBatch | None:
        """Commits the files that an earlier run staged. Returns None, with the staged files removed, if the batch must
        be written instead: the files are of another batch or plan, or their commit conflicts.

        Raises ValidationConflict STREAM_FENCED and STREAM_KEY_CHANGED.
        """
        if not self.plan or (staged.batch_id, staged.plan) != (self.batch.batch_id, self.plan):
            _remove_staged(self._io(), staged)
            return None
        target = self._target(self.environment)
        commit = _Commit(self, lambda _: staged)
        try:
            commit_change(self.environment, replace(target, as_committed=commit.action), staged.action)
        except ValidationConflict as conflict:
            _remove_staged(self._io(), staged)
            if conflict.condition == "STREAM_FENCED":
                raise
            _LOG.warning("batch %d of query %s is written anew: %s", staged.batch_id, self.batch.query_id, conflict)
            return None
        rows = sum(file.record_count for file in staged.files if file.content == Content.DATA)
        return WrittenBatch(rows, self._landed(commit))

    def route(self, target: Target, rows: DataFrame) -> WrittenBatch:
        """Writes `rows` to the tables that their values of `route-by` name, in one commit. Raises as
        `RoutedBatch.write`, and AnalysisError INVALID_STREAM_OPTION."""
        batch, options = self.batch, self.batch.options
        if batch.output_mode == "complete" or options.overwrite is not None or options.write.branch is not None:
            reason = "with it rows are only appended or upserted, and to main"
            raise AnalysisError(
                "INVALID_STREAM_OPTION", kind="write", name="route-by", value=options.route_by, reason=reason
            )
        advance = self.run.advance(batch.batch_id)
        routed = RoutedBatch(target, rows, options, batch.output_mode == "update", advance)
        written = routed.write(self.environment, self.spark)
        if written.commit is not None:
            settle(self.spark, batch, self._io(), None)
        for one in written.targets:
            renew_caches(self.spark, one.name.parts)
        return WrittenBatch(written.rows, written.commit, written.targets)

    def commit_nothing(self) -> BatchCommit | None:
        """Commits the progress with a snapshot without files."""
        target = self._target(self.environment)
        commit = _Commit(self, lambda _: None)
        commit_change(self.environment, replace(target, as_committed=commit.action), AppendFiles(()))
        return self._landed(commit)

    def _target(self, environment: Environment) -> Target:
        """The newest version of the table. Raises ValidationConflict STREAM_KEY_CHANGED if its key has changed since
        the run began."""
        target = self.batch.target(environment, self.spark)
        if target.table.metadata.schema().identifier_field_ids != self.run.key:
            raise ValidationConflict("STREAM_KEY_CHANGED", name=target.name, query=self.batch.query_id)
        return target

    def _io(self) -> FileIO:
        return self.environment.catalogs.catalog(str(self.batch.table.catalog)).io

    def _written(self, environment: Environment, target: Target, rows: DataFrame) -> int | None:
        batch, options = self.batch, self.batch.options
        target = _told_apart(batch, target)
        upserts = _upserts(batch, target)
        if merges_schema(self.spark, options.write.merge_schema):
            target = grown_for_rows(environment, self.spark, target, rows, by_name=True)
        environment = environment.writing_in(options.parallelism)
        if upserts:
            kind = row_kind_column(target, rows.columns)
            changed = align_changes(self.spark, rows, target, by_name=True, kind=kind)
            return upsert(environment, self.spark, target, changed, in_order=batch.in_order).row()[0]
        # Not for an upsert, which orders rows with equal keys by task.
        rows = in_tasks(rows, options.parallelism)
        rows = align(self.spark, rows, target.name.parts, target.table.metadata.schema(), by_name=True)
        plan = plan_insert(environment.planning, Way(batch.mode))
        return write_rows_to(environment, target, rows, WriteMode(batch.mode), plan.writer)

    def _staged(self, environment: Environment, target: Target, action: Action) -> StagedBatch | None:
        """The action's staged files; None, with a warning, if staging fails: the batch is then committed without it."""
        batch = self.batch
        try:
            return stage_batch(
                target.version.io,
                target.table.metadata,
                action,
                query_id=batch.query_id,
                batch_id=batch.batch_id,
                plan=self.plan,
                how=batch.how,
                token=f"{environment.rng.getrandbits(64):016x}",
            )
        except (SqlextError, OSError) as failure:
            _LOG.warning("batch %d of query %s is not staged: %s", batch.batch_id, batch.query_id, failure)
            return None

    def _landed(self, commit: _Commit) -> BatchCommit | None:
        """The outcome of the commit, after `settle`; None if there was nothing to commit."""
        if commit.outcome is not None:
            settle(self.spark, self.batch, self._io(), commit.staged)
        return commit.outcome


class _Commit:
    """The commit of one run of a batch's write: its staged files and its outcome.

    The command commits by itself; as `Target.as_committed`, `action` adds the staging and the progress. The object is
    local to one run, and used by the query's thread alone.
    """

    def __init__(self, write: BatchWrite, stage: Callable[[Action], StagedBatch | None]) -> None:
        self._write = write
        self._stage = stage
        self.staged: StagedBatch | None = None
        self.outcome: BatchCommit | None = None

    def action(self, action: Action) -> Action:
        """`action` together with the query's progress; stages its files."""
        self.staged = self._stage(action)
        self.outcome = BatchCommit(self._write.environment.clock())
        return self._write.run.advance(self._write.batch.batch_id, action, self._told)

    def _told(self, snapshot: Snapshot | None) -> None:
        assert self.outcome is not None
        snapshots = {} if snapshot is None else {"": snapshot}
        self.outcome = replace(self.outcome, landed_ms=self._write.environment.clock(), snapshots=snapshots)


def settle(spark: SparkSession, batch: MicroBatch, io: FileIO, staged: StagedBatch | None) -> None:
    """Cleans up after the commit of a batch: removes its staged files, and renews Spark's caches of the table."""
    _remove_staged(io, staged)
    renew_caches(spark, written_table(batch.table).parts)


def _remove_staged(io: FileIO, staged: StagedBatch | None) -> None:
    if staged is not None:
        remove_files(io, staged.batch_id, (staged.location, *staged.manifests))


def remove_files(io: FileIO, batch_id: int, paths: Sequence[str]) -> None:
    """Removes staged files. A failure is only logged: a later run checks each file that it finds."""
    for path in paths:
        try:
            io.delete(path)
        except (SqlextError, OSError) as failure:
            _LOG.warning("a staged file of batch %d is left behind, %s: %s", batch_id, path, failure)


def _upserts(batch: MicroBatch, target: Target) -> bool:
    """Whether rows replace the rows with their keys. Raises AnalysisError for options that contradict the output mode,
    and for a table without a key."""
    options = batch.options
    if batch.output_mode == "update":
        if batch.mode != "append":
            way_out = "Begin the query with outputMode('append'), or leave the overwrite option out"
            raise AnalysisError("UPSERT_WITH_OVERWRITE", name=target.name, way_out=way_out)
        require_no_other_mode(options.write)
        require_upsertable(target)
        return True
    return is_upsert(target, options.write, overwrites=batch.mode != "append")


def _told_apart(batch: MicroBatch, target: Target) -> Target:
    """The target of the batch's rows, as `told_apart_by`. Raises AnalysisError STREAM_KEY_NOT_THE_TABLES if the table
    has a key, and the option `equality-field-columns` names another one."""
    schema, columns = target.table.metadata.schema(), batch.options.write.equality_columns
    key = [path_text(schema.column_path(id)) for id in schema.identifier_field_ids]
    named = {_field_id(schema, path) for path in columns}
    if named and key and named != set(schema.identifier_field_ids):
        raise AnalysisError(
            "STREAM_KEY_NOT_THE_TABLES",
            name=target.name,
            named=", ".join(map(path_text, columns)),
            key=", ".join(sorted(key)),
        )
    return told_apart_by(target, columns)


def _field_id(schema: Schema, path: FieldPath) -> int | None:
    field = schema.field_at(path, case_sensitive=False)
    return None if field is None else field.id
