"""The removal of rows that an overwrite replaces: whole files, and rows of other files by position.

In format version 1, which has no delete files, files are rewritten with the rows that stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyroaring import BitMap64
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from sqlext.command.change.distribution import write_distributed
from sqlext.command.change.row_level import Target, delete_rows, touched_files
from sqlext.command.environment import Environment
from sqlext.command.plan.change_plan import Writer
from sqlext.command.plan.planner import plan_insert
from sqlext.command.write_operation import WriteOperation
from sqlext.commit.actions.overwrite_rows import OverwriteRows
from sqlext.scan.filter.file_filter import FileFilter
from sqlext.scan.scan_plan import FileScanTask, deletes_all_rows
from sqlext.spark.query.lowered_sql import log_lowered, lowered_query
from sqlext.spark.query.write_job import find_positions, task_identity
from sqlext.spec.expression import Predicate
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.sql.tokens.quoting import quote_identifier
from sqlext.write.task import write_rows


@dataclass(frozen=True, slots=True)
class ReplacedRows:
    """Rows that an overwrite replaces: `condition` is SQL over the table's columns, `row_filter` the equal predicate,
    None if there is none."""

    condition: str
    row_filter: Predicate | None


def remove_rows(
    environment: Environment, spark: SparkSession, target: Target, operation: WriteOperation, rows: ReplacedRows
) -> tuple[OverwriteRows, Mapping[str, BitMap64]]:
    """The action that removes the rows, without new rows yet, and the removed positions by data file.

    Files are read only if partition and metrics do not decide. Delete files, or in format version 1 the remaining rows,
    are written for files that lose some rows.
    """
    touched, positions = _touched(environment, spark, target, rows)
    kept_from = [task for task in touched if not deletes_all_rows(task, positions)]
    partial = {task.file.file_path: positions[task.file.file_path] for task in kept_from}
    snapshot = target.version.snapshot
    removal = OverwriteRows(
        rows.row_filter,
        deleted_files=[task.file for task in touched if task.file.file_path not in partial],
        base_snapshot_id=None if snapshot is None else snapshot.snapshot_id,
    )
    if target.table.metadata.format_version < 2:
        writer = plan_insert(environment.planning).writer
        kept = _rewrite(spark, target, operation, rows.condition, list(partial), writer)
        return replace(removal, added=kept, rewritten_files=[task.file for task in kept_from]), partial
    partitions = {task.file.file_path: (task.spec_id, task.partition) for task in kept_from}
    deletes = delete_rows(operation, partial, partitions)
    marked = replace(
        removal,
        delete_files=deletes.files,
        deleted_rows=deletes.rows,
        referenced_data_files=frozenset(partial),
    )
    return marked, partial


def _touched(
    environment: Environment, spark: SparkSession, target: Target, rows: ReplacedRows
) -> tuple[Sequence[FileScanTask], Mapping[str, BitMap64]]:
    """The files with rows to replace, but for those that the row filter alone proves to go whole, and the positions."""
    if rows.row_filter is None:
        positions = _positions(spark, target, rows.condition)
        return touched_files(environment, target, positions), positions
    metadata = target.table.metadata
    files = FileFilter(rows.row_filter, schema=metadata.schema(), specs=metadata.specs_by_id())
    tasks = environment.scans.plan(target.version, rows.row_filter).tasks
    undecided = [task for task in tasks if not files.file_must_match(task.file)]
    positions = _positions(spark, target, rows.condition) if undecided else {}
    return [task for task in undecided if positions.get(task.file.file_path)], positions


def _positions(spark: SparkSession, target: Target, condition: str) -> Mapping[str, BitMap64]:
    """Positions, by data file, of the live rows that match the condition.

    The condition is in double parentheses, since Spark reads `t WHERE (a)` as an alias `WHERE` with a column `a`.
    """
    lowered = f"SELECT `_file`, `_pos`\nFROM {target.relation}\nWHERE (({condition}))"
    log_lowered(lowered)
    return find_positions(lowered_query(spark, lowered)).positions


def _rewrite(
    spark: SparkSession,
    target: Target,
    operation: WriteOperation,
    condition: str,
    paths: Sequence[str],
    writer: Writer,
) -> Sequence[ContentFile]:
    """Data files with the rows of the files `paths` that do not match the condition."""
    if not paths:
        return ()
    metadata = target.table.metadata
    columns = ", ".join(quote_identifier(field.name) for field in metadata.schema().fields)
    lowered = f"SELECT {columns}, `_file`\nFROM {target.relation}\nWHERE ((NOT coalesce(({condition}), false)))"
    log_lowered(lowered)
    kept = lowered_query(spark, lowered).where(F.col("_file").isin(list(paths))).drop("_file")
    task = write_rows(operation.plan, task_identity=_second_on_driver)
    return write_distributed(kept, metadata, task, writer).data_files


def _second_on_driver() -> tuple[int, int]:
    """Task numbers for the driver's second write of an operation, after that of the new rows; in a task its own
    numbers."""
    return task_identity() if TaskContext.get() else (1, 0)
