"""Tables as sinks of streaming queries: each micro-batch is one commit, exactly once.

A run of a query claims the table before its first batch, which fences off older runs of the query. A batch that Spark
runs again is recognised by its id and the fingerprint of its plan, and skipped.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from sqlext.command.change.destination import written_table
from sqlext.command.change.rerun import run_with_reruns
from sqlext.command.change.row_level import Target
from sqlext.command.environment import Environment
from sqlext.command.maintenance.care import care_after_commit
from sqlext.commit.actions.staged_batch import StagedBatch, load_staged, staged_files
from sqlext.commit.actions.stream_progress import AdvanceStream, StreamProgress
from sqlext.errors import ValidationConflict
from sqlext.spark.session.checkpoint_files import batch_plan
from sqlext.streaming.batch_figures import BatchFigures
from sqlext.streaming.batch_write import BatchWrite, WrittenBatch, remove_files
from sqlext.streaming.micro_batch import MicroBatch
from sqlext.streaming.query_run import QueryRun, QueryRuns, RunId

_LOG = logging.getLogger("sqlext")


class StreamingSink:
    """The sinks of an application's streaming queries."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._runs = QueryRuns()

    def write(self, spark: SparkSession, arguments: Mapping[str, Any], rows: DataFrame | None) -> Mapping[str, Any]:
        """Writes the micro-batch `rows`, described by the shim's `arguments`, and returns the sink's metrics.

        Raises AnalysisError and DataError as an INSERT does; ValidationConflict STREAM_FENCED, STREAM_BATCH_DIFFERS,
        STREAM_PROGRESS_MISSING, STREAM_TABLE_REPLACED and STREAM_KEY_CHANGED.
        """
        assert rows is not None
        batch, clock = MicroBatch.of(arguments), self._environment.clock
        target = batch.target(self._environment, spark)
        plan = batch_plan(spark, batch.checkpoint, batch.batch_id)
        claimed = self._claimed(target, batch)
        if _is_there(target, claimed, batch, plan):
            _LOG.warning("batch %d of query %s is in %s already", batch.batch_id, batch.query_id, target.name)
            return {"metrics": {"alreadyCommitted": "true"}}
        began_ms = clock()
        run = self._runs.put(_run_id(target, batch), claimed.begins(batch.batch_id, plan))
        write = BatchWrite(self._environment, spark, batch, run, plan)
        finished = None if claimed.staged is None else write.finish(claimed.staged)
        written = finished or self._written(write, target, rows, arguments["plan_settings"])
        if written.commit is None and run.is_empty_for(batch.options.empty_commits):
            written = replace(written, commit=write.commit_nothing())
        after = run.passed_over() if written.commit is None else run.landed(batch.batch_id, clock())
        self._runs.put(_run_id(target, batch), after)
        for one in written.targets:
            care_after_commit(self._environment, spark, one, batch.trigger_ms)
        figures = BatchFigures(began_ms, clock(), written.rows, written.commit, claimed.committed_ms)
        how = {} if finished is None else {"finishedStaged": "true"}
        return {"metrics": {**figures.metrics(), **how}}

    def _written(
        self, write: BatchWrite, target: Target, rows: DataFrame, plan_settings: Mapping[str, str]
    ) -> WrittenBatch:
        if write.batch.options.route_by is not None:
            return write.route(target, rows)
        return run_with_reruns(
            self._environment.planned_by(plan_settings),
            written_table(write.batch.table).parts,
            lambda now: write.write(now, rows),
        )

    def _claimed(self, target: Target, batch: MicroBatch) -> QueryRun:
        """The batch's run; a new run claims the table. Raises ValidationConflict STREAM_PROGRESS_MISSING."""
        id = _run_id(target, batch)
        known = self._runs.of(id)
        if known is not None:
            return known
        metadata = target.table.metadata
        there = StreamProgress.of(metadata, batch.query_id, str(target.name))
        if there is None and batch.batch_id > 0 and not batch.options.accept_checkpoint:
            raise ValidationConflict(
                "STREAM_PROGRESS_MISSING", name=target.name, query=batch.query_id, batch=batch.batch_id
            )
        claim = StreamProgress(batch.run_id) if there is None else there.taken_over(batch.run_id)
        action = AdvanceStream(batch.query_id, there, claim)
        self._environment.commit(target.name.catalog, target.table, action)
        staged = None if there is None else _left_behind(target, claim, batch)
        run = QueryRun(batch.query_id, claim, metadata.schema().identifier_field_ids, staged=staged)
        return self._runs.put(id, run)


def _run_id(target: Target, batch: MicroBatch) -> RunId:
    return target.table.metadata.table_uuid, batch.run_id


def _is_there(target: Target, run: QueryRun, batch: MicroBatch, plan: str) -> bool:
    """Whether the table has the batch. Raises ValidationConflict STREAM_BATCH_DIFFERS if it has one of this id or a
    later one, and the batch's plan is not known to be the committed one."""
    last = run.progress.batch_id
    if last is None or batch.batch_id > last:
        return False
    if run.progress.plans.get(batch.batch_id) != plan:
        raise ValidationConflict(
            "STREAM_BATCH_DIFFERS", name=target.name, query=batch.query_id, batch=batch.batch_id, last=last
        )
    return True


def _left_behind(target: Target, claim: StreamProgress, batch: MicroBatch) -> StagedBatch | None:
    """The batch's files as an earlier run staged them, if whole; removes the query's other staged files.

    After the commit of `claim` no earlier run can commit any of them.
    """
    io, metadata = target.version.io, target.table.metadata
    left = staged_files(io, metadata, batch.query_id)
    last = -1 if claim.batch_id is None else claim.batch_id
    whole = (load_staged(io, metadata, path, batch.how) for path in left if path.endswith(".json"))
    coming = (one for one in whole if one is not None and one.batch_id == batch.batch_id and one.batch_id > last)
    found = next(coming, None)
    kept = () if found is None else (found.location, *found.manifests)
    remove_files(io, batch.batch_id, [path for path in left if path not in kept])
    return found
