"""Rows copied by tasks that read the data files themselves, for copy-on-write, or to complete the new rows of a change
with the columns that it does not assign: no row that stays, and no column without new values, passes through the JVM.

Spark moves new values to the task that copies their file, and sorts them by position. The files come with them, as rows
of their own, so each task gets the deleted positions of its files and no others.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from operator import attrgetter
from typing import TypeAlias

import mmh3
from pyroaring import BitMap64
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from sqlext.command.change.checked_rows import with_task_count
from sqlext.command.change.copied_file import CopiedColumns, FileCopy, copy_files
from sqlext.command.change.distribution import distribute, keeps_order
from sqlext.command.change.file_copies import (
    FileCopies,
    columns_read_by_tasks,
    columns_without_rules,
    united,
    why_by_query,
)
from sqlext.command.change.row_change import RowChange
from sqlext.command.change.row_level import Target, has_row_ids
from sqlext.command.environment import Environment
from sqlext.command.plan.change_plan import Writer
from sqlext.command.plan.planning import Planning
from sqlext.scan.even_parts import divided
from sqlext.scan.live_rows import RowColumns
from sqlext.scan.scan_plan import FileScanTask, ScanPlan
from sqlext.spark.query.write_job import WrittenFiles, run_few, run_write, task_identity
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.row_lineage import ROW_ID
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.sql.tokens.quoting import quote_identifier
from sqlext.write.arrow_schema import schema_to_arrow
from sqlext.write.row_operation import INSERT, UPDATE
from sqlext.write.task import BY_QUERY

_TASK, _NUMBER, _COPY, _POSITION = "__sqlext_task", "__sqlext_number", "__sqlext_copy", "__sqlext_position"
_PATH = "__sqlext_path"
_PLACES = f"{_PATH} string, {_TASK} int, {_NUMBER} int, {_COPY} binary"
_Place: TypeAlias = tuple[str, int, int, bytes]
_SPARK_SEED = 42
_PART_BYTES = 8 * 1024 * 1024


def columns_left_out(target: Target, change: RowChange) -> Sequence[str]:
    """The columns that the change's query need not give, as tasks read them."""
    found = columns_read_by_tasks(target.written_as, change.kept_columns)
    return () if found is None else [*found, ROW_ID.name]


def copied_by_tasks(
    environment: Environment, spark: SparkSession, copies: FileCopies, writer: Writer
) -> Sequence[ContentFile] | None:
    """The new data files; None, with no file left, if only a query can read the files or keep their order."""
    files = _readable_files(environment, copies)
    if files is None:
        return None
    rows = _rows(spark, copies, files, _task_count(spark, files, environment.planning))
    if rows is None:
        return ()
    target, operation = copies.target, copies.cached.operation
    plan = operation.plan.with_row_lineage() if has_row_ids(target) else operation.plan
    task = copy_files(plan, _columns(copies), task_identity=task_identity)
    written: WrittenFiles | None = None
    size = sum(file.file.file_size_in_bytes for file in files)
    inserted = copies.cached.found.counts.get("inserted", 0)
    if size <= writer.most_bytes and inserted <= min(writer.most_bytes, environment.planning.thresholds.driver_rows):
        written = run_few(rows, task, most_bytes=writer.most_bytes)
    written = written or run_write(rows, task, writer.tasks)
    if written.counts.get(BY_QUERY):
        operation.discard(written.data_files)
        return None
    return written.data_files


def _readable_files(environment: Environment, copies: FileCopies) -> Sequence[FileScanTask] | None:
    """The files to copy, all of whose deleted rows are known by position; None as `copied_by_tasks`."""
    target = copies.target
    kept = copies.change.kept_columns if copies.has_new_rows else None
    if why_by_query(target.table.metadata, kept) is not None:
        return None
    files = copies.touched if copies.has_new_rows else copies.partly_kept
    plan = ScanPlan(tuple(files))
    if any(task.has_equality_deletes for task in files):
        paths = {task.file.file_path for task in files}
        found = environment.scans.with_positions(
            target.version, environment.scans.plan(target.version, AlwaysTrue(), paths=paths)
        )
        if found is None:
            return None
        plan = found
    if not environment.scans.reads_by_field_id(target.version, plan):
        return None
    return plan.tasks if _keep_order(target.table.metadata, plan.tasks) else None


def _keep_order(metadata: TableMetadata, files: Sequence[FileScanTask]) -> bool:
    """Whether copies of the files are in the table's sort order if it has one, and as many as there are files."""
    order, spec = metadata.default_sort_order_id, metadata.default_spec_id
    return not keeps_order(metadata) or all(file.file.sort_order_id == order and file.spec_id == spec for file in files)


def _given(copies: FileCopies) -> Sequence[str]:
    """The columns with new values. Inserted rows may have row ids: those of an UNDO were there before."""
    if not copies.has_new_rows:
        return []
    kept = columns_without_rules(copies.change.kept_columns, copies.cached.operation.plan.rules)
    names = [field.name for field in copies.target.table.metadata.schema().fields if field.name not in kept]
    has_ids = not copies.change.kept_columns and ROW_ID.name in copies.cached.rows.columns
    return [*names, ROW_ID.name] if has_ids else names


def _columns(copies: FileCopies) -> CopiedColumns:
    schema = copies.target.table.metadata.schema()
    given = set(_given(copies))
    numbers = tuple(number for number, field in enumerate((*schema.fields, ROW_ID)) if field.name in given)
    columns = RowColumns(schema.fields, schema_to_arrow(schema))
    return CopiedColumns(columns, numbers, lineage=has_row_ids(copies.target), keeps_others=copies.keeps_others)


# Rows in the columns of `copy_files`


def _rows(spark: SparkSession, copies: FileCopies, files: Sequence[FileScanTask], tasks: int) -> DataFrame | None:
    """All rows for the tasks, in their order; None if there are none."""
    moved = _of_files(spark, copies, files, tasks) if files else None
    if not copies.cached.found.counts.get("inserted"):
        return moved
    inserted = distribute(_new(copies, INSERT), copies.target.table.metadata)
    no_place = [F.lit(None).cast("binary").alias(_COPY), F.lit(None).cast("bigint").alias(_POSITION)]
    inserted = _counted(copies, inserted.select(*no_place, *_quoted(copies)))
    return inserted if moved is None else united([moved, inserted])


def _of_files(spark: SparkSession, copies: FileCopies, files: Sequence[FileScanTask], tasks: int) -> DataFrame:
    """The files and the new values of their updated rows, each file with its values in one task."""
    places = united([spark.createDataFrame(some, _PLACES) for some in _in_parts(_places(copies, files, tasks))])
    begins = places.select(_TASK, _NUMBER, _COPY, F.lit(-1).cast("bigint").alias(_POSITION))
    rows = begins
    if copies.has_new_rows:
        types = {field.name: field.dataType for field in copies.cached.rows.schema.fields}
        nothing = [F.lit(None).cast(types[name]).alias(name) for name in _given(copies)]
        found = F.broadcast(places.select(_PATH, _TASK, _NUMBER))
        updated = _new(copies, UPDATE).join(found, F.col("_file") == F.col(_PATH))
        place: list[Column] = [F.col(_TASK), F.col(_NUMBER), F.lit(None).cast("binary").alias(_COPY)]
        updated = updated.select(*place, F.col("_pos").alias(_POSITION), *_quoted(copies))
        rows = united(
            [
                _counted(copies, begins.select("*", *nothing), are_new=False),
                _counted(copies, updated),
            ]
        )
    ordered = rows.repartition(tasks, _TASK).sortWithinPartitions(_NUMBER, _POSITION)
    return ordered.drop(_TASK, _NUMBER)


def _new(copies: FileCopies, operation: int) -> DataFrame:
    return copies.rows(operation).select("_file", "_pos", *_quoted(copies))


def _quoted(copies: FileCopies) -> Sequence[str]:
    return [quote_identifier(name) for name in _given(copies)]


def _counted(copies: FileCopies, rows: DataFrame, *, are_new: bool = True) -> DataFrame:
    """The rows with the number of tasks, if they may get values of identity columns."""
    return with_task_count(rows, copies.cached.operation.plan, are_new=are_new)


def _task_count(spark: SparkSession, files: Sequence[FileScanTask], planning: Planning) -> int:
    """As many as there are cores, or more for files of more bytes."""
    size = sum(task.file.file_size_in_bytes for task in files)
    cores: int = spark.sparkContext.defaultParallelism
    wanted = max(cores, -(-size // max(1, planning.thresholds.copied_bytes)))
    return min(len(files), wanted, planning.tasks or wanted)


def _places(copies: FileCopies, files: Sequence[FileScanTask], tasks: int) -> Sequence[_Place]:
    """Each file's path, the value that Spark's partitioning sends to its task, its number, and itself.

    Tasks get about the same number of bytes, and files of a partition follow each other.
    """
    parts = divided((one.file for one in files), tasks, attrgetter("file_size_in_bytes"))
    task_of = {path: value for part, value in zip(parts, _values_of_tasks(tasks), strict=False) for path in part}
    together = sorted(files, key=lambda one: (one.spec_id, one.partition_ordinal, one.file.file_path))
    changed = copies.cached.found.positions
    return [
        (path, task_of[path], number, FileCopy(file, changed.get(path, BitMap64()).serialize()).packed())
        for number, file in enumerate(together)
        for path in [file.file.file_path]
    ]


def _in_parts(places: Sequence[_Place]) -> Sequence[Sequence[_Place]]:
    """The places in parts of few bytes: Spark sends local rows with its tasks, up to `spark.rpc.message.maxSize`."""
    parts: list[list[_Place]] = [[]]
    size = 0
    for place in places:
        if size > _PART_BYTES:
            parts.append([])
            size = 0
        parts[-1].append(place)
        size += len(place[0]) + len(place[-1])
    return parts


def _values_of_tasks(tasks: int) -> Sequence[int]:
    """An integer for each task that Spark's hash partitioning sends there; any other would only share tasks."""
    found = dict[int, int]()
    value = 0
    while len(found) < tasks:
        found.setdefault(mmh3.hash(struct.pack("<i", value), _SPARK_SEED) % tasks, value)
        value += 1
    return [found[task] for task in range(tasks)]
