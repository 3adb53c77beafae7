"""Insert-only: an append of the source rows that match no target row."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from sqlext.command.change.distribution import arrangement, distribute, order, samples
from sqlext.command.change.enforced_key import Removed, require_unique_keys
from sqlext.command.change.read_set import read_set_of
from sqlext.command.change.row_change import RowChange, changed_rows, conflict_scope
from sqlext.command.change.row_level import Target, commit_change, row_delta
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.plan.change_plan import Writer
from sqlext.command.write_operation import begin_write
from sqlext.command.writing import write_by
from sqlext.spark.query.driver_rows import checkpointed, estimate
from sqlext.spark.query.write_job import task_identity
from sqlext.spec.manifests.row_lineage import ROW_ID
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.write.task import write_changes


def insert_only(
    environment: Environment, spark: SparkSession, target: Target, change: RowChange, writer: Writer
) -> Counts:
    """Appends the new rows of a change that only inserts, in any format version; see `CarryOut`.

    Rows are distributed over tasks as those of an INSERT. Under serializable isolation, rows added by others that match
    the condition are a conflict.
    """
    metadata = target.table.metadata
    operation = begin_write(target.written_as, target.version.io, str(target.name), environment.rng)
    # New rows inherit their row ids.
    rows = changed_rows(spark, operation, change).drop(ROW_ID.name)
    read_set = read_set_of(rows, target.version, conflict_scope(change, target), target.overtaken)
    task = write_changes(operation.plan, task_identity=task_identity)
    with operation.cleaned_on_failure():
        written = write_by(writer, rows, task, lambda spread: _spread(spread, metadata, writer), arrangement(metadata))
        require_unique_keys(environment, spark, target, written.data_files, Removed())
        delta = row_delta(environment, target, operation, written, read_set=read_set, isolation=change.isolation)
    if delta is not None:
        commit_change(environment, target, delta)
    return Counts(inserted=sum(file.record_count for file in written.data_files))


def _spread(rows: DataFrame, metadata: TableMetadata, writer: Writer) -> DataFrame:
    """The rows in the table's distribution. Spark may evaluate them twice for it, so rows that may differ are
    cached."""
    if samples(metadata) and not estimate(rows).repeatable:
        rows = checkpointed(rows, writer.tasks)
    return order(distribute(rows, metadata), metadata)
