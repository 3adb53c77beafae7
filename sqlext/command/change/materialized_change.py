"""A change whose SELECT is evaluated and cached, so that its positions are known before a file is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from sqlext.command.change.read_set import ReadSet, read_set_of
from sqlext.command.change.row_change import (
    RowChange,
    changed_rows,
    conflict_scope,
    has_new_rows,
    require_one_change,
    with_sent_source,
)
from sqlext.command.change.row_level import Target
from sqlext.command.plan.change_plan import Writer
from sqlext.command.write_operation import WriteOperation
from sqlext.command.writing import write_by
from sqlext.spark.query.driver_rows import checkpointed
from sqlext.spark.query.write_job import WrittenFiles, find_positions, task_identity
from sqlext.write.task import write_changes
from sqlext.write.violated_rows import VIOLATED


@dataclass(frozen=True, slots=True)
class MaterializedChange:
    """`rows` are the cached rows of the lowered SELECT, `found` the positions that they delete and the row counts, no
    files."""

    operation: WriteOperation
    rows: DataFrame
    read_set: ReadSet
    found: WrittenFiles


def materialize_change(
    spark: SparkSession,
    target: Target,
    operation: WriteOperation,
    change: RowChange,
    writer: Writer,
    left_out: Sequence[str] = (),
) -> MaterializedChange:
    """Evaluates and caches the change without the columns `left_out`, and checks its new rows. Raises as `CarryOut`."""
    query = changed_rows(spark, operation, change).drop(*left_out)
    read_set = read_set_of(query, target.version, conflict_scope(change, target), target.overtaken)
    rows = checkpointed(with_sent_source(query, change), writer.tasks)
    if not has_new_rows(rows):
        found = find_positions(rows, shows_operations=change.shows_matches)
    elif change.kept_columns and VIOLATED not in rows.columns:
        # No row is inserted, or to be tested by a task.
        found = find_positions(rows, shows_operations=True)
    else:
        found = _counted(operation, change, writer, rows)
    require_one_change(spark, target, change, found)
    return MaterializedChange(operation, rows, read_set, found)


def _counted(operation: WriteOperation, change: RowChange, writer: Writer, rows: DataFrame) -> WrittenFiles:
    task = write_changes(
        operation.plan, task_identity=task_identity, distinct_keys=change.distinct_keys, writes_rows=False
    )
    return write_by(writer, rows, task, lambda spread: spread)
