"""Merge-on-read: new rows in new data files, old ones deleted by position, no data file rewritten."""

from __future__ import annotations

from functools import partial

from pyspark.sql import DataFrame, SparkSession

from sqlext.command.distribution import keeps_order, order
from sqlext.command.enforced_key import Removed, require_unique_keys
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.reads import Reads, reads_of
from sqlext.command.row_level import Target, commit_change, has_row_ids, row_delta
from sqlext.command.strategy.held_change import HeldChange
from sqlext.command.strategy.strategy import (
    RowChange,
    changed_counts,
    changed_rows,
    has_new_rows,
    most_rows,
    reach_of,
    require_one_change,
)
from sqlext.command.write_operation import WriteOperation, begin_write
from sqlext.commit.row_delta import RowDelta
from sqlext.spark.driver_rows import estimate
from sqlext.spark.write_job import WrittenFiles, find_positions, run_few, run_write, task_identity
from sqlext.write.task import write_changes


def merge_on_read(environment: Environment, spark: SparkSession, target: Target, change: RowChange) -> Counts:
    """Position deletes in format version 2, deletion vectors from version 3 on; see `Strategy`."""
    operation = begin_write(target.written_as, target.version.io, str(target.name), environment.rng)
    with operation.cleaned_on_failure():
        rows = changed_rows(spark, operation, change)
        reads = reads_of(rows, target.version, reach_of(change, target), target.overtaken)
        written = _write(spark, target, operation, change, rows)
        delta = _delta(environment, spark, target, operation, change, written, reads)
    if delta is not None:
        commit_change(environment, target, delta)
    return changed_counts(written)


def mark_held(
    environment: Environment, spark: SparkSession, target: Target, change: RowChange, held: HeldChange
) -> RowDelta | None:
    """Writes the new rows of a change that is held; the action that adds them and marks the old ones."""
    written = _write(spark, target, held.operation, change, held.rows)
    return _delta(environment, spark, target, held.operation, change, written, held.reads)


def _write(
    spark: SparkSession, target: Target, operation: WriteOperation, change: RowChange, rows: DataFrame
) -> WrittenFiles:
    """New rows in data files, and the positions of the old ones."""
    written = _write_rows(target, operation, change, rows) if has_new_rows(rows) else find_positions(rows)
    require_one_change(spark, target, change, written)
    return written


def _write_rows(target: Target, operation: WriteOperation, change: RowChange, rows: DataFrame) -> WrittenFiles:
    plan = operation.plan.with_row_ids() if has_row_ids(target) else operation.plan
    metadata, expected = target.table.metadata, estimate(rows)
    task = write_changes(plan, task_identity=task_identity, distinct_keys=change.distinct_keys)
    if change.few and not expected.is_small:
        # What is run again, should there be more rows, must not give others.
        rows = rows if expected.repeatable else rows.localCheckpoint()
        arranged = partial(order, metadata=metadata, one_task=True) if keeps_order(metadata) else None
        written = run_few(rows, task, most_rows(target), arranged)
        if written is not None:
            return written
    return run_write(order(rows, metadata, one_task=expected.is_small), task, on_driver=expected.is_small)


def _delta(
    environment: Environment,
    spark: SparkSession,
    target: Target,
    operation: WriteOperation,
    change: RowChange,
    written: WrittenFiles,
    reads: Reads,
) -> RowDelta | None:
    if not (change.distinct_keys or change.keeps_keys):
        removed = Removed(positions=written.positions)
        require_unique_keys(environment, spark, target, written.data_files, removed)
    return row_delta(environment, target, operation, written, reads=reads, isolation=change.isolation)
