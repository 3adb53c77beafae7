"""Merge-on-read: new rows in new data files, old ones deleted by position, no data file rewritten."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from sqlext.command.distribution import arrangement, keeps_order, order
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
from sqlext.spec.expression import AlwaysTrue
from sqlext.sql.quoting import quote_identifier
from sqlext.storage.location import is_object
from sqlext.write.kept_columns import with_kept_columns
from sqlext.write.positioned_values import has_positioned_values
from sqlext.write.task import write_changes

# Up to about as many rows their kept columns are found faster one by one than Spark decodes them of all rows.
_MOST_COMPLETED = 262_144


def merge_on_read(environment: Environment, spark: SparkSession, target: Target, change: RowChange) -> Counts:
    """Position deletes in format version 2, deletion vectors from version 3 on; see `Strategy`."""
    operation = begin_write(target.written_as, target.version.io, str(target.name), environment.rng)
    with operation.cleaned_on_failure():
        rows = changed_rows(spark, operation, change)
        reads = reads_of(rows, target.version, reach_of(change, target), target.overtaken)
        written = _write(environment, spark, target, operation, change, rows)
        delta = _delta(environment, spark, target, operation, change, written, reads)
    if delta is not None:
        commit_change(environment, target, delta)
    return changed_counts(written)


def mark_held(
    environment: Environment, spark: SparkSession, target: Target, change: RowChange, held: HeldChange
) -> RowDelta | None:
    """Writes the new rows of a change that is held; the action that adds them and marks the old ones."""
    whole = replace(change, kept_columns=())
    written = _write(environment, spark, target, held.operation, whole, held.rows)
    return _delta(environment, spark, target, held.operation, change, written, held.reads)


def _write(
    environment: Environment,
    spark: SparkSession,
    target: Target,
    operation: WriteOperation,
    change: RowChange,
    rows: DataFrame,
) -> WrittenFiles:
    """New rows in data files, and the positions of the old ones."""
    written = _write_rows(environment, target, operation, change, rows) if has_new_rows(rows) else find_positions(rows)
    require_one_change(spark, target, change, written)
    return written


def _write_rows(
    environment: Environment, target: Target, operation: WriteOperation, change: RowChange, rows: DataFrame
) -> WrittenFiles:
    plan = operation.plan.with_row_ids() if has_row_ids(target) else operation.plan
    metadata, expected = target.table.metadata, estimate(rows)
    task = write_changes(plan, task_identity=task_identity, distinct_keys=change.distinct_keys)
    may_be_few = expected.is_small or change.few is not False
    left = _left_to_task(environment, target, change) if may_be_few else frozenset()
    completing = with_kept_columns(task, plan.schema, left) if left else task
    if expected.is_small:
        return run_write(order(_without(rows, left), metadata, one_task=True), completing, on_driver=True)
    # A query without the columns that are kept costs little, and ends once it has more rows than the driver takes.
    tried = bool(left) and expected.repeatable if change.few is None else change.few
    if tried:
        # What is run again, should there be more rows, must not give others.
        rows = rows if expected.repeatable else rows.localCheckpoint()
        most = most_rows(target, _MOST_COMPLETED) if left else most_rows(target)
        written = run_few(_without(rows, left), completing, most, arrangement(metadata))
        if written is not None:
            return written
    return run_write(order(rows, metadata, one_task=False), task, on_driver=False)


def _without(rows: DataFrame, left: Collection[str]) -> DataFrame:
    return rows.select(*(quote_identifier(name) for name in rows.columns if name not in left)) if left else rows


def _left_to_task(environment: Environment, target: Target, change: RowChange) -> frozenset[str]:
    """Of the columns that the new rows keep those that a write of few rows reads from the data files.

    Where the table has a sort order, Spark arranges rows by its columns and those of the partition.
    """
    metadata = target.table.metadata
    used = [field.source_id for field in metadata.spec().fields]
    if keeps_order(metadata):
        used += [field.source_id for field in metadata.sort_order().fields]
    fields = (metadata.schema().find(name) for name in change.kept_columns)
    left = {field.name for field in fields if field and field.id not in used and has_positioned_values(field)}
    if not left:
        return frozenset()
    plan = environment.scans.plan(target.version, AlwaysTrue())
    local = not any(is_object(task.file.file_path) for task in plan.tasks)
    return frozenset(left if local and environment.scans.reads_by_field_id(target.version, plan) else ())


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
