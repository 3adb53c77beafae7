"""The rows that an overwrite with a condition takes out: whole files, and positions where only some rows go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyroaring import BitMap64
from pyspark.sql import SparkSession

from sqlext.command.environment import Environment
from sqlext.command.row_level import Target, delete_rows, require_delete_files
from sqlext.command.write_operation import WriteOperation
from sqlext.scan.file_filter import FileFilter
from sqlext.scan.scan_plan import FileScanTask
from sqlext.spark import journal
from sqlext.spark.lowered_sql import lowered_query
from sqlext.spark.write_job import is_small, run_write, task_identity
from sqlext.spec.expression import AlwaysTrue, Predicate
from sqlext.transaction.overwrite_rows import OverwriteRows
from sqlext.write.task import write_changes


@dataclass(frozen=True, slots=True)
class ReplacedRows:
    """`condition` is SQL over the table's columns; `row_filter` says exactly the same, where it can be said."""

    condition: str
    row_filter: Predicate | None


def take_out(
    environment: Environment, spark: SparkSession, target: Target, operation: WriteOperation, rows: ReplacedRows
) -> tuple[OverwriteRows, Mapping[str, BitMap64]]:
    """The removal of what goes, no rows in its place yet, and the positions that go by data file.

    Files are read only where partition and metrics leave it open. Writes delete files for those of which a part goes.
    UnsupportedError FORMAT_VERSION_1_ROW_LEVEL where a file of a version 1 table holds other rows too.
    """
    undecided = _undecided(environment, target, rows.row_filter)
    positions = _positions(spark, target, operation, rows.condition) if undecided else {}
    whole, partial = [], {}
    for task in undecided:
        selected = positions.get(task.file.file_path)
        if selected is None:
            continue
        if task.deleted_rows + len(selected) == task.file.record_count:
            whole.append(task.file)
        else:
            partial[task.file.file_path] = selected
    if partial:
        require_delete_files(target, "Overwriting some of the rows of a data file")
    partitions = {task.file.file_path: (task.spec_id, task.partition) for task in undecided}
    deletes = delete_rows(operation, partial, partitions)
    snapshot = target.version.snapshot
    removal = OverwriteRows(
        rows.row_filter,
        deleted_files=whole,
        delete_files=deletes.files,
        deleted_rows=deletes.rows,
        referenced_data_files=frozenset(partial),
        base_snapshot_id=None if snapshot is None else snapshot.snapshot_id,
    )
    return removal, partial


def _undecided(environment: Environment, target: Target, row_filter: Predicate | None) -> Sequence[FileScanTask]:
    """The files that must be read to know which of their rows go."""
    if row_filter is None:
        return environment.scans.plan(target.version, AlwaysTrue()).tasks
    metadata = target.table.metadata
    files = FileFilter(row_filter, schema=metadata.schema(), specs=metadata.specs_by_id())
    tasks = environment.scans.plan(target.version, row_filter).tasks
    return [task for task in tasks if not files.file_must_match(task.file)]


def _positions(
    spark: SparkSession, target: Target, operation: WriteOperation, condition: str
) -> Mapping[str, BitMap64]:
    """Positions of the live rows that the condition selects, by data file.

    Spark takes `t WHERE (a)` for one whose alias is `WHERE` and its column `a`.
    """
    lowered = f"SELECT 1Y AS `__operation`, `_file`, `_pos`\nFROM {target.relation}\nWHERE (({condition}))"
    journal.record(lowered)
    selected = lowered_query(spark, lowered)
    task = write_changes(operation.plan, task_identity=task_identity)
    return run_write(selected, task, on_driver=is_small(selected)).positions
