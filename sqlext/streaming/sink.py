"""Tables as sinks of streaming queries: one micro-batch is one commit, and is in the table exactly once.

A run of a query claims the table before its first batch, so that an older run of it can commit no more. A batch that
comes again is told by its number and by the fingerprint of its plan, and is passed over.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from sqlext.command.change.destination import written_table
from sqlext.command.change.rerun import run_until_not_overtaken
from sqlext.command.change.row_level import Target, commit_change, load_target
from sqlext.command.change.schema_evolution import changes_for_rows, grown, merges_schema
from sqlext.command.compaction.compaction import compact_after_commit
from sqlext.command.dml.data_frame_write import WriteMode, is_upsert, with_options, write_rows_to
from sqlext.command.environment import Environment
from sqlext.command.upsert.change_batch import align_changes, row_kind_column
from sqlext.command.upsert.upsert import require_upsertable, upsert
from sqlext.commit.action import Action
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.staged_batch import StagedBatch, load_staged, stage_batch, staged_files
from sqlext.commit.actions.stream_progress import AdvanceStream, StreamProgress
from sqlext.errors import AnalysisError, CommitStateUnknown, SqlextError, ValidationConflict
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spark.query.cached_tables import renew_caches
from sqlext.spark.query.store_assignment import align
from sqlext.spark.session.checkpoint_files import batch_plan
from sqlext.spark.session.session_settings import is_case_sensitive
from sqlext.spec.field_path import FieldPath, path_text
from sqlext.spec.manifests.content_file import Content
from sqlext.spec.schema import Schema
from sqlext.storage.file_io import FileIO
from sqlext.streaming.batch_figures import BatchFigures
from sqlext.streaming.routed_batch import BATCH_ID, QUERY_ID, RoutedBatch
from sqlext.streaming.sink_options import SinkOptions, require_no_other_mode, sink_options

_LOG = logging.getLogger("sqlext")
# Of an application, by their last batches. A run that is not among them claims its table anew with its next batch.
_REMEMBERED_RUNS = 1_000

COMMIT_USER = "sqlext.commit-user"


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """One batch as Spark hands it over. `in_order`: rows come in the order that the source's tasks have them in.
    `trigger_ms`: how far apart batches begin, where the query's trigger says so."""

    table: TableHandle
    query_id: str
    run_id: str
    batch_id: int
    output_mode: str
    in_order: bool
    checkpoint: str
    trigger_ms: int | None
    options: SinkOptions

    @property
    def how(self) -> str:
        """In which way it is written, for what was staged by an earlier run."""
        options = self.options
        how = f"{self.output_mode} {options.overwrite} {options.write.upsert} {options.write.branch}"
        return how if options.route_by is None else f"{how} by {options.route_by}"

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> MicroBatch:
        """The shim's question."""
        return cls(
            TableHandle.decode(arguments["table"]),
            arguments["query_id"],
            arguments["run_id"],
            arguments["batch_id"],
            arguments["output_mode"],
            arguments["in_order"],
            arguments["checkpoint"],
            arguments["trigger_ms"],
            sink_options(arguments["options"]),
        )


@dataclass(slots=True)
class _Run:
    """A run of a query: the progress that the table has as far as it knows, and what came since.

    `staged` is the batch that an earlier run had written and not committed.
    """

    progress: StreamProgress
    key: tuple[int, ...]
    plans: dict[int, str] = field(default_factory=dict)
    staged: StagedBatch | None = None
    empty_batches: int = 0
    committed_ms: int | None = None


class StreamingSink:
    """The sinks of an application's streaming queries, by their runs."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self._runs: OrderedDict[tuple[str, str], _Run] = OrderedDict()
        # Each query has a thread of its own.
        self._lock = threading.Lock()

    def write(self, spark: SparkSession, arguments: Mapping[str, Any], rows: DataFrame | None) -> Mapping[str, Any]:
        """Writes one micro-batch; the answer has the metrics of the sink.

        Errors: AnalysisError and DataError as of a write, ValidationConflict STREAM_FENCED, STREAM_BATCH_DIFFERS,
        STREAM_PROGRESS_MISSING, STREAM_TABLE_REPLACED and STREAM_KEY_CHANGED.
        """
        assert rows is not None
        batch = MicroBatch.of(arguments)
        target = self._target(self.environment, spark, batch)
        plan = batch_plan(spark, batch.checkpoint, batch.batch_id)
        run = self._claimed(target, batch)
        if self._is_there(target, run, batch, plan):
            _LOG.warning("batch %d of query %s is in %s already", batch.batch_id, batch.query_id, target.name)
            return {"metrics": {"alreadyCommitted": "true"}}
        run.plans[batch.batch_id] = plan
        write = _BatchWrite(self, batch, run, rows, plan, BatchFigures(self.environment.clock))
        if batch.options.route_by is not None:
            routed = write.route(spark, target)
            return {"metrics": self._metrics(write, routed)}
        written = write.finish_staged(spark)
        if written is not None:
            return {"metrics": {**self._metrics(write, written), "finishedStaged": "true"}}
        written = run_until_not_overtaken(
            self.environment.planned_by(arguments["plan_settings"]),
            written_table(batch.table).parts,
            lambda now: write.run(now, spark),
        )
        if write.committed:
            compact_after_commit(self.environment, spark, target, batch.trigger_ms)
        else:
            write.pass_over(spark)
        return {"metrics": self._metrics(write, written)}

    def _target(self, environment: Environment, spark: SparkSession, batch: MicroBatch) -> Target:
        name = written_table(batch.table)
        target = with_options(load_target(environment, spark, name, batch.options.write.branch), batch.options.write)
        if target.table.metadata.table_uuid != batch.table.table_uuid:
            raise ValidationConflict("STREAM_TABLE_REPLACED", name=name, query=batch.query_id)
        summary = (
            *target.destination.summary,
            (QUERY_ID, batch.query_id),
            (BATCH_ID, str(batch.batch_id)),
            (COMMIT_USER, str(spark.sparkContext.sparkUser())),
        )
        return replace(target, destination=replace(target.destination, summary=summary))

    def _claimed(self, target: Target, batch: MicroBatch) -> _Run:
        """The run, which has the table from its first batch on."""
        at = target.table.metadata.table_uuid, batch.run_id
        with self._lock:
            if at in self._runs:
                self._runs.move_to_end(at)
                return self._runs[at]
        metadata = target.table.metadata
        there = StreamProgress.of(metadata, batch.query_id, str(target.name))
        if there is None and batch.batch_id > 0 and not batch.options.accept_checkpoint:
            raise ValidationConflict(
                "STREAM_PROGRESS_MISSING", name=target.name, query=batch.query_id, batch=batch.batch_id
            )
        claim = StreamProgress(batch.run_id) if there is None else there.taken_over(batch.run_id)
        action = AdvanceStream(batch.query_id, there, claim)
        self.environment.commit(target.name.catalog, target.table, action)
        staged = None if there is None else _left_behind(target, claim, batch)
        run = _Run(claim, metadata.schema().identifier_field_ids, staged=staged)
        with self._lock:
            self._runs[at] = run
            while len(self._runs) > _REMEMBERED_RUNS:
                self._runs.popitem(last=False)
        return run

    def _is_there(self, target: Target, run: _Run, batch: MicroBatch, plan: str) -> bool:
        """Whether the table has the batch. ValidationConflict where it has one of that number with another plan."""
        last = run.progress.batch_id
        if last is None or batch.batch_id > last:
            return False
        if run.progress.plans.get(batch.batch_id) != plan:
            raise ValidationConflict(
                "STREAM_BATCH_DIFFERS", name=target.name, query=batch.query_id, batch=batch.batch_id, last=last
            )
        return True

    def _metrics(self, write: _BatchWrite, rows: int | None) -> Mapping[str, str]:
        told = write.figures.metrics(rows, write.of_run.committed_ms)
        if write.committed:
            write.of_run.committed_ms = self.environment.clock()
        return told

    def reload(self, environment: Environment, spark: SparkSession, batch: MicroBatch, run: _Run) -> Target:
        """The batch's target as it is now. ValidationConflict where the key is no more what it was for the run."""
        target = self._target(environment, spark, batch)
        if target.table.metadata.schema().identifier_field_ids != run.key:
            raise ValidationConflict("STREAM_KEY_CHANGED", name=target.name, query=batch.query_id)
        return target


def _field_id(schema: Schema, path: FieldPath) -> int | None:
    field = schema.field_at(path, case_sensitive=False)
    return None if field is None else field.id


def _left_behind(target: Target, claim: StreamProgress, batch: MicroBatch) -> StagedBatch | None:
    """The batch as an earlier run has staged it; other staged files of the query are removed.

    The claim has been committed, so no earlier run can commit any of them any more.
    """
    io, metadata = target.version.io, target.table.metadata
    left = staged_files(io, metadata, batch.query_id)
    last = -1 if claim.batch_id is None else claim.batch_id
    whole = (load_staged(io, metadata, path, batch.how) for path in left if path.endswith(".json"))
    coming = (one for one in whole if one is not None and one.batch_id == batch.batch_id and one.batch_id > last)
    found = next(coming, None)
    kept = () if found is None else (found.location, *found.manifests)
    _remove(io, batch.batch_id, [path for path in left if path not in kept])
    return found


def _remove(io: FileIO, batch_id: int, paths: Sequence[str]) -> None:
    """Removes staged files; one that stays does no harm, as the table tells that it has the batch."""
    for path in paths:
        try:
            io.delete(path)
        except (SqlextError, OSError) as failure:
            _LOG.warning("a staged file of batch %d is left behind, %s: %s", batch_id, path, failure)


@dataclass(slots=True)
class _BatchWrite:
    """The write of one batch; `committed` once it has come to the commit."""

    sink: StreamingSink
    batch: MicroBatch
    of_run: _Run
    rows: DataFrame
    plan: str
    figures: BatchFigures
    committed: bool = False
    staged: StagedBatch | None = None

    def run(self, environment: Environment, spark: SparkSession) -> int | None:
        """Writes and commits the rows; how many they are, where that is known."""
        self.committed = False
        try:
            written = self._write(environment, spark)
        except CommitStateUnknown:
            raise
        except BaseException:
            self._remove_staged(environment)
            raise
        if self.committed:
            self._landed(environment, spark)
        return written

    def _write(self, environment: Environment, spark: SparkSession) -> int | None:
        batch, options = self.batch, self.batch.options
        target = self.sink.reload(environment, spark, batch, self.of_run)
        mode = self._mode()
        upserts = self._upserts(target, mode)
        if merges_schema(spark) if options.write.merge_schema is None else options.write.merge_schema:
            exact = is_case_sensitive(spark)
            changes = changes_for_rows(target, self.rows, by_name=True)
            target = grown(environment, target, changes, case_sensitive=exact)
        target = replace(target, as_committed=lambda action: self._staged_and_advanced(environment, target, action))
        tasks = options.parallelism
        writing = environment.writing_in(tasks)
        # Rows of one key are told apart by their task.
        rows = self.rows if tasks is None or upserts else self.rows.coalesce(tasks)
        if upserts:
            kind = row_kind_column(target, rows.columns)
            changes = align_changes(spark, rows, target, by_name=True, kind=kind)
            return upsert(writing, spark, target, changes, in_order=batch.in_order).row()[0]
        rows = align(spark, rows, target.name.parts, target.table.metadata.schema(), by_name=True)
        return write_rows_to(writing, target, rows, WriteMode(mode))

    def finish_staged(self, spark: SparkSession) -> int | None:
        """Commits what an earlier run has staged of the batch; the number of its rows, None where it did not.

        ValidationConflict STREAM_FENCED. Where the table has changed so that it cannot be committed, its files are
        removed, and the batch is to be written anew.
        """
        environment = self.sink.environment
        staged, self.of_run.staged = self.of_run.staged, None
        if staged is None:
            return None
        if not self.plan or (staged.batch_id, staged.plan) != (self.batch.batch_id, self.plan):
            self.staged = staged
            self._remove_staged(environment)
            return None
        target = self.sink.reload(environment, spark, self.batch, self.of_run)
        self.staged = staged
        try:
            commit_change(environment, replace(target, as_committed=self._advance), staged.action)
        except ValidationConflict as conflict:
            self._remove_staged(environment)
            if conflict.condition == "STREAM_FENCED":
                raise
            _LOG.warning("batch %d of query %s is written anew: %s", staged.batch_id, self.batch.query_id, conflict)
            return None
        self._landed(environment, spark)
        return sum(file.record_count for file in staged.files if file.content == Content.DATA)

    def route(self, spark: SparkSession, target: Target) -> int:
        """Writes the rows to the tables that they name, and commits all of it; how many they are."""
        batch, options, run = self.batch, self.batch.options, self.of_run
        if batch.output_mode == "complete" or options.overwrite is not None or options.write.branch is not None:
            reason = "rows that go to many tables are added or upserted there, and on main"
            raise AnalysisError(
                "INVALID_STREAM_OPTION", kind="write", name="route-by", value=options.route_by, reason=reason
            )
        before = run.progress
        advance = AdvanceStream(batch.query_id, before, before.after(batch.batch_id, run.plans))
        updates = batch.output_mode == "update"
        routed = RoutedBatch(target, self.rows, options, updates, lambda: advance, self.figures)
        written, targets = routed.write(self.sink.environment, spark)
        if not written:
            self.pass_over(spark)
            return 0
        self.committed = True
        self._landed(self.sink.environment, spark)
        for one in targets:
            renew_caches(spark, one.name.parts)
            compact_after_commit(self.sink.environment, spark, one, batch.trigger_ms)
        return written

    def pass_over(self, spark: SparkSession) -> None:
        """A batch without rows makes no snapshot, but for every so many."""
        self.of_run.empty_batches += 1
        empty_commits = self.batch.options.empty_commits
        if empty_commits and self.of_run.empty_batches >= empty_commits:
            self.commit_nothing(spark)

    def commit_nothing(self, spark: SparkSession) -> None:
        """A snapshot without files."""
        environment = self.sink.environment
        target = self.sink.reload(environment, spark, self.batch, self.of_run)
        commit_change(environment, replace(target, as_committed=self._advance), AppendFiles(()))
        self._landed(environment, spark)

    def _landed(self, environment: Environment, spark: SparkSession) -> None:
        run = self.of_run
        run.progress = run.progress.after(self.batch.batch_id, run.plans)
        run.plans, run.empty_batches = {}, 0
        self._remove_staged(environment)
        renew_caches(spark, written_table(self.batch.table).parts)

    def _remove_staged(self, environment: Environment) -> None:
        staged, self.staged = self.staged, None
        if staged is not None:
            io = environment.catalogs.catalog(str(self.batch.table.catalog)).io
            _remove(io, staged.batch_id, (staged.location, *staged.manifests))

    def _staged_and_advanced(self, environment: Environment, target: Target, action: Action) -> Action:
        batch = self.batch
        try:
            self.staged = stage_batch(
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
        return self._advance(action)

    def _advance(self, action: Action) -> Action:
        self.committed = True
        self.figures.commit_begins()
        run, batch = self.of_run, self.batch
        after = run.progress.after(batch.batch_id, run.plans)
        return AdvanceStream(batch.query_id, run.progress, after, action, self.figures.commit_landed)

    def _mode(self) -> Any:
        if self.batch.output_mode == "complete" or self.batch.options.overwrite == "static":
            return "overwrite"
        return "overwrite partitions" if self.batch.options.overwrite == "dynamic" else "append"

    def _upserts(self, target: Target, mode: str) -> bool:
        options = self.batch.options
        if self.batch.output_mode == "update":
            if mode != "append":
                way_out = "Begin the query with outputMode('append'), or leave the option of the overwrite out"
                raise AnalysisError("UPSERT_WITH_OVERWRITE", name=target.name, way_out=way_out)
            require_no_other_mode(options.write)
            require_upsertable(target)
            upserts = True
        else:
            upserts = is_upsert(target, options.write, overwrites=mode != "append")
        schema = target.table.metadata.schema()
        key = [path_text(schema.column_path(id)) for id in schema.identifier_field_ids]
        named = {_field_id(schema, path) for path in options.key_columns}
        if named and named != set(schema.identifier_field_ids):
            raise AnalysisError(
                "STREAM_KEY_NOT_THE_TABLES",
                name=target.name,
                named=", ".join(map(path_text, options.key_columns)),
                key=", ".join(sorted(key)) or "no primary key",
            )
        return upserts
