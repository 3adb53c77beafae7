"""Merge-on-read: new rows in new data files, old rows deleted by position, no data file rewritten."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from sqlext.command.change.completed_rows import complete_in_order
from sqlext.command.change.copied_by_tasks import columns_left_out, copied_by_tasks
from sqlext.command.change.distribution import arrangement, keeps_order, order
from sqlext.command.change.enforced_key import Removed, require_unique_keys
from sqlext.command.change.file_copies import FileCopies
from sqlext.command.change.materialized_change import MaterializedChange, materialize_change
from sqlext.command.change.read_set import ReadSet, read_set_of
from sqlext.command.change.row_change import (
    RowChange,
    changed_counts,
    changed_rows,
    conflict_scope,
    has_new_rows,
    require_one_change,
    with_sent_source,
)
from sqlext.command.change.row_level import Target, commit_change, row_delta, touched_files, written_plan
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.plan.change_plan import Writer
from sqlext.command.write_operation import WriteOperation, begin_write
from sqlext.command.writing import AttemptInTasks, FewerColumns, write_by
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.spark.query.write_job import WriteTask, WrittenFiles, find_positions, task_identity
from sqlext.spec.expression import AlwaysTrue
from sqlext.storage.location import is_object
from sqlext.write.kept_columns import with_kept_columns
from sqlext.write.positioned_values import has_positioned_values
from sqlext.write.task import write_changes


def merge_on_read(
    environment: Environment, spark: SparkSession, target: Target, change: RowChange, writer: Writer
) -> Counts:
    """Writes position deletes in format version 2, deletion vectors from version 3 on; see `CarryOut`."""
    operation = begin_write(target.written_as, target.version.io, str(target.name), environment.rng)
    with operation.cleaned_on_failure():
        rows = changed_rows(spark, operation, change)
        task = _task(target, operation, change)
        fewer = None
        if writer.completed_rows or writer.completes:
            fewer = _fewer_columns(environment, target, operation, change, writer, rows, task)
        # The read set comes from the query that runs first, if any does, as Spark has to optimise it anyway.
        read_set = read_set_of(
            fewer.rows if fewer else rows, target.version, conflict_scope(change, target), target.overtaken
        )
        written = _write(spark, target, change, writer, rows, task, fewer)
        delta = _delta(environment, spark, target, operation, change, written, read_set)
    if delta is not None:
        commit_change(environment, target, delta)
    return changed_counts(written)


def complete_by_tasks(
    environment: Environment, spark: SparkSession, target: Target, change: RowChange, writer: Writer
) -> Counts:
    """As `merge_on_read`, of a change that keeps columns: its query, which is cached, does not give them, and tasks
    read them from the data files. If tasks turn out not to read a file, the query runs again, with all columns."""
    operation = begin_write(target.written_as, target.version.io, str(target.name), environment.rng)
    with operation.cleaned_on_failure():
        left_out = columns_left_out(target, change)
        cached = materialize_change(spark, target, operation, change, writer, left_out)
        touched = touched_files(environment, target, cached.found.positions)
        copies = FileCopies(target, change, cached, touched, keeps_others=False)
        files = copied_by_tasks(environment, spark, copies, writer)
        if files is not None:
            written = replace(cached.found, data_files=tuple(files))
            delta = _delta(environment, spark, target, operation, change, written, cached.read_set)
    if files is None:
        return merge_on_read(environment, spark, target, change, writer)
    if delta is not None:
        commit_change(environment, target, delta)
    return changed_counts(cached.found)


def delete_materialized(
    environment: Environment,
    spark: SparkSession,
    target: Target,
    change: RowChange,
    writer: Writer,
    materialized: MaterializedChange,
) -> RowDelta | None:
    """Writes the new rows of a cached change; returns the action that adds them and deletes the old rows, None for no
    change."""
    written = _write(spark, target, change, writer, materialized.rows, _task(target, materialized.operation, change))
    return _delta(environment, spark, target, materialized.operation, change, written, materialized.read_set)


def _task(target: Target, operation: WriteOperation, change: RowChange) -> WriteTask:
    plan = written_plan(target, operation)
    return write_changes(plan, task_identity=task_identity, distinct_keys=change.distinct_keys)


def _fewer_columns(
    environment: Environment,
    target: Target,
    operation: WriteOperation,
    change: RowChange,
    writer: Writer,
    rows: DataFrame,
    task: WriteTask,
) -> FewerColumns | None:
    """The query without kept columns, and tasks that read these from the data files; None if none may be left out."""
    left_out = _read_by_task(environment, target, change)
    if not left_out:
        return None
    schema = operation.plan.schema
    many = None
    if writer.completes:
        in_order = complete_in_order(written_plan(target, operation), schema, left_out, task_identity=task_identity)
        many = AttemptInTasks(in_order, operation.discard)
    return FewerColumns(rows.drop(*left_out), with_kept_columns(task, schema, left_out), many)


def _write(
    spark: SparkSession,
    target: Target,
    change: RowChange,
    writer: Writer,
    rows: DataFrame,
    task: WriteTask,
    fewer: FewerColumns | None = None,
) -> WrittenFiles:
    """Writes the new rows to data files, and collects the positions of the old rows."""
    if has_new_rows(rows):
        metadata = target.table.metadata
        arranged = arrangement(metadata)

        def in_tasks(query: DataFrame) -> DataFrame:
            return order(with_sent_source(query, change), metadata)

        written = write_by(writer, rows, task, in_tasks, arranged, fewer)
    else:
        written = find_positions(with_sent_source(rows, change), shows_operations=change.shows_matches)
    require_one_change(spark, target, change, written)
    return written


def _read_by_task(environment: Environment, target: Target, change: RowChange) -> frozenset[str]:
    """The kept columns that the driver may read from the data files instead of the SELECT.

    Excluded are columns by which Spark arranges rows, for partitions and sort order, files in object stores, and
    tables of more files than the driver plans whole.
    """
    metadata = target.table.metadata
    used = [field.source_id for field in metadata.spec().fields]
    if keeps_order(metadata):
        used += [field.source_id for field in metadata.sort_order().fields]
    fields = (metadata.schema().column(name) for name in change.kept_columns)
    left = {field.name for field in fields if field and field.id not in used and has_positioned_values(field)}
    if not left:
        return frozenset()
    if not environment.plans_all_files(target.version):
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
    read_set: ReadSet,
) -> RowDelta | None:
    if not (change.distinct_keys or change.keeps_keys):
        removed = Removed(positions=written.positions)
        require_unique_keys(environment, spark, target, written.data_files, removed)
    return row_delta(environment, target, operation, written, read_set=read_set, isolation=change.isolation)
