"""Insert-only: the target is searched for what is there already, and what is not is appended."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.command.change.distribution import arrangement, distribute, order, samples
from sqlext.command.change.enforced_key import Removed, require_unique_keys
from sqlext.command.change.reads import reads_of
from sqlext.command.change.row_level import Target, commit_change, row_delta
from sqlext.command.change.strategy import RowChange, changed_rows, reach_of
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.write_operation import begin_write
from sqlext.spark.query.driver_rows import estimate
from sqlext.spark.query.write_job import run_few, run_write, task_identity
from sqlext.spec.manifests.row_lineage import ROW_ID
from sqlext.write.task import write_changes


def insert_only(environment: Environment, spark: SparkSession, target: Target, change: RowChange) -> Counts:
    """An append, in any format version, of a change that has insertions alone; see `Strategy`.

    Rows are spread over tasks as those of an INSERT. It depends on the rows it looked for: under serializable isolation
    it conflicts with other new rows.
    """
    metadata = target.table.metadata
    operation = begin_write(metadata, target.version.io, str(target.name), environment.rng)
    # The ids of new rows follow from their places.
    rows = changed_rows(spark, operation, change).drop(ROW_ID.name)
    reads = reads_of(rows, target.version, reach_of(change, target), target.overtaken)
    expected = estimate(rows)
    task = write_changes(operation.plan, task_identity=task_identity)
    with operation.cleaned_on_failure():
        written = run_few(rows, task, arranged=arrangement(metadata)) if expected.is_small else None
        if written is None:
            if samples(metadata) and not expected.repeatable:
                rows = rows.localCheckpoint()
            written = run_write(order(distribute(rows, metadata), metadata), task)
        require_unique_keys(environment, spark, target, written.data_files, Removed())
        delta = row_delta(environment, target, operation, written, reads=reads, isolation=change.isolation)
    if delta is not None:
        commit_change(environment, target, delta)
    return Counts(inserted=sum(file.record_count for file in written.data_files))
