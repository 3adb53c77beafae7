"""Merge-on-read: new rows in new data files, old ones deleted by position, no data file rewritten."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from sqlext.command.change.distribution import arrangement, keeps_order, order
from sqlext.command.change.enforced_key import Removed, require_unique_keys
from sqlext.command.change.held_change import HeldChange
from sqlext.command.change.reads import Reads, reads_of
from sqlext.command.change.row_level import Target, commit_change, has_row_ids, row_delta
from sqlext.command.change.strategy import (
    RowChange,
    changed_counts,
    changed_rows,
    has_new_rows,
    most_rows,
    reach_of,
    require_one_change,
)
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.write_operation import WriteOperation, begin_write
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.spark.query.driver_rows import estimate
from sqlext.spark.query.write_job import WriteTask, WrittenFiles, find_positions, run_few, run_write, task_identity
from sqlext.spec.expression import AlwaysTrue
from sqlext.storage.location import is_object
from sqlext.write.kept_columns import with_kept_columns
from sqlext.write.positioned_values import has_positioned_values
from sqlext.write.task import write_changes
from sqlext.write.write_plan import WritePlan

# Up to about as many rows their kept columns are found faster one by one than Spark decodes them of all rows.
_MOST_COMPLETED = 262_144


def merge_on_read(environment: Environment, spark: SparkSession, target: Target, change: RowChange) -> Counts:
    """Position deletes in format version 2, deletion vectors from version 3 on; see `Strategy`."""
    operation = begin_write(target.written_as, target.version.io, str(target.name), environment.rng)
    with operation.cleaned_on_failure():
        rows = changed_rows(spark, operation, change)
        fewer = _FewerColumns.of(environment, target, change, rows) if change.few is not False else None
        # Spark optimises the query that is run first, and that one alone where its rows are few.
        reads = reads_of(fewer.rows if fewer else rows, target.version, reach_of(change, target), target.overtaken)
        written = _write(environment, spark, target, operation, change, rows, fewer)
        delta = _delta(environment, spark, target, operation, change, written, reads)
    if delta is not None:
        commit_change(environment, target, delta)
    return changed_counts(written)


def mark_held(
    environment: Environment, spark: SparkSession, target: Target, change: RowChange, held: HeldChange
) -> RowDelta | None:
    """Writes the new rows of a change that is held; the action that adds them and marks the old ones."""
    whole = replace(change, kept_columns=())
    written = _write(environment, spark, target, held.operation, whole, held.rows, None)
    return _delta(environment, spark, target, held.operation, change, written, held.reads)


@dataclass(frozen=True, slots=True)
class _FewerColumns:
    """Rows of a change without those of the columns they keep that a write of few rows reads from the data files."""

    rows: DataFrame
    left_out: frozenset[str]

    @classmethod
    def of(cls, environment: Environment, target: Target, change: RowChange, rows: DataFrame) -> _FewerColumns | None:
        """None where there are no such columns."""
        left_out = _read_by_task(environment, target, change)
        return cls(rows.drop(*left_out), left_out) if left_out else None

    def completing(self, task: WriteTask, plan: WritePlan) -> WriteTask:
        return with_kept_columns(task, plan.schema, self.left_out)


def _write(
    environment: Environment,
    spark: SparkSession,
    target: Target,
    operation: WriteOperation,
    change: RowChange,
    rows: DataFrame,
    fewer: _FewerColumns | None,
) -> WrittenFiles:
    """New rows in data files, and the positions of the old ones."""
    if has_new_rows(rows):
        written = _write_rows(environment, target, operation, change, rows, fewer)
    else:
        written = find_positions(rows, shows_matches=change.shows_matches)
    require_one_change(spark, target, change, written)
    return written


def _write_rows(
    environment: Environment,
    target: Target,
    operation: WriteOperation,
    change: RowChange,
    rows: DataFrame,
    fewer: _FewerColumns | None,
) -> WrittenFiles:
    plan = operation.plan.with_row_ids() if has_row_ids(target) else operation.plan
    metadata = target.table.metadata
    task = write_changes(plan, task_identity=task_identity, distinct_keys=change.distinct_keys)
    written = None
    # What is run again, should there be more rows, must not give others.
    if fewer and estimate(fewer.rows).repeatable:
        # It costs little, and ends once it has more rows than the driver takes.
        most = most_rows(target, _MOST_COMPLETED)
        written = run_few(fewer.rows, fewer.completing(task, plan), most, arrangement(metadata))
    else:
        expected = estimate(rows)
        if expected.is_small:
            if change.few is False:
                fewer = _FewerColumns.of(environment, target, change, rows)
            few, completed = (fewer.rows, fewer.completing(task, plan)) if fewer else (rows, task)
            written = run_few(few, completed, arranged=arrangement(metadata))
        elif change.few:
            rows = rows if expected.repeatable else rows.localCheckpoint()
            written = run_few(rows, task, most_rows(target), arrangement(metadata))
    return written or run_write(order(rows, metadata), task)


def _read_by_task(environment: Environment, target: Target, change: RowChange) -> frozenset[str]:
    """Of the columns that the new rows keep those that a write of few rows reads from the data files.

    Where the table has a sort order, Spark arranges rows by its columns and those of the partition.
    """
    metadata = target.table.metadata
    used = [field.source_id for field in metadata.spec().fields]
    if keeps_order(metadata):
        used += [field.source_id for field in metadata.sort_order().fields]
    fields = (metadata.schema().column(name) for name in change.kept_columns)
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
