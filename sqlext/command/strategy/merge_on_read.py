"""Merge-on-read: new rows in new data files, old ones deleted by position, no data file rewritten."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.command.distribution import order
from sqlext.command.enforced_key import Removed, require_unique_keys
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.reads import reads_of
from sqlext.command.row_level import Target, commit_change, has_row_ids, row_delta
from sqlext.command.strategy.strategy import (
    RowChange,
    cardinality_violation,
    changed_counts,
    changed_rows,
    has_new_rows,
    reach_of,
)
from sqlext.command.write_operation import begin_write
from sqlext.spark.write_job import is_small, run_write, task_identity
from sqlext.write.task import write_changes


def merge_on_read(environment: Environment, spark: SparkSession, target: Target, change: RowChange) -> Counts:
    """Position deletes in format version 2, deletion vectors from version 3 on; see `Strategy`."""
    operation = begin_write(target.written_as, target.version.io, str(target.name), environment.rng)
    rows = changed_rows(spark, operation, change)
    new_rows = has_new_rows(rows)
    plan = operation.plan.with_row_ids() if new_rows and has_row_ids(target) else operation.plan
    on_driver = is_small(rows)
    reads = reads_of(rows, target.version, reach_of(change, target))
    if new_rows:
        rows = order(rows, target.table.metadata, one_task=on_driver)
    with operation.cleaned_on_failure():
        task = write_changes(plan, task_identity=task_identity, distinct_keys=change.distinct_keys)
        written = run_write(rows, task, on_driver=on_driver)
        if written.repeated and change.row_names is not None:
            raise cardinality_violation(spark, target, change.row_names, written.repeated)
        if not (change.distinct_keys or change.keeps_keys):
            removed = Removed(positions=written.positions)
            require_unique_keys(environment, spark, target, written.data_files, removed)
        delta = row_delta(environment, target, operation, written, reads=reads, isolation=change.isolation)
    counts = changed_counts(written)
    if delta is not None:
        commit_change(environment, target, delta)
    return counts
