"""Spark jobs that write: write tasks turn a DataFrame's rows into files, and report these to the driver.

Rows of a small change, and up to a limit those of a change that may be small, are collected as Arrow and written by the
write task on the driver, because starting Python workers costs more. Other rows never pass through the driver.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyroaring import BitMap64
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sqlext.error_conditions import CONDITIONS
from sqlext.errors import DataError, SqlextError, StorageError
from sqlext.spark.catalog.arrow_types import from_arrow_schema
from sqlext.spark.executor_task import for_executors
from sqlext.spark.query.driver_rows import (
    DRIVER_BYTES,
    can_be_collected,
    collect_few,
    collect_positions,
    collect_written,
    require_levels,
)
from sqlext.spark.query.packed_rows import PackedColumns, packed, read_tables
from sqlext.spark.shim.java_objects import java_context
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.row_origins import RowOrigins, row_origins
from sqlext.storage.file_io import FileIO
from sqlext.thresholds import ALL_ROWS
from sqlext.write.commit_message import (
    MESSAGE_SCHEMA,
    TaskMessage,
    decode_messages,
    done_message,
    encode_messages,
    left_message,
    origins_location,
)
from sqlext.write.row_operation import MATCH, UPDATE
from sqlext.write.task import BY_QUERY
from sqlext.write.violated_rows import TASKS

WriteTask = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

# Prefixes of file paths in a query of positions, by the operation of the rows. No path begins with one.
_MARKS = {MATCH: "\0", UPDATE: "\1"}
# Spark kills a cancelled task's Python worker after two seconds; other jobs may keep executors busy for longer.
_LONGEST_WAIT_S = 10.0
# A Python worker notices the end of its task when it next reads rows, after writing its current row group.
_LAST_ROW_GROUP_S = 2.0


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """The results of all tasks of a job.

    By data file path, `positions` are the deleted positions, `matched` the positions of rows that a source row matches
    and that stay, and `repeated` those of either that occur for more than one source row. `origin_messages` are about
    the new data files of a rewrite.
    """

    data_files: tuple[ContentFile, ...] = ()
    delete_files: tuple[ContentFile, ...] = ()
    positions: dict[str, BitMap64] = field(default_factory=dict)
    matched: dict[str, BitMap64] = field(default_factory=dict)
    repeated: dict[str, BitMap64] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    origin_messages: tuple[TaskMessage, ...] = ()

    def origins(self, sources: Mapping[int, str], dead: Mapping[str, bytes] | None = None) -> Mapping[str, RowOrigins]:
        """The origins of the rows of each data file, by its path; `sources` are the paths of replaced files by the
        number that the job has given to each. `dead` is as in `RowOrigins`."""
        stored = {one.path: origins_location(one.path) for one in self.origin_messages if one.kind == "stored_origins"}
        return {one.path: row_origins(one.payload, sources, stored.get(one.path), dead) for one in self.origin_messages}


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """Lets tasks read the files of a query themselves. `stores` gives those of the tables with these handles, and
    `discard` removes what tasks have written if one of them met a file that only Spark reads."""

    stores: Callable[[Sequence[str]], Mapping[str, FileIO]]
    discard: Callable[[Iterable[ContentFile]], None]


def task_identity() -> tuple[int, int]:
    """The running task's partition number and its attempt id, unique in the application; (0, 0) on the driver.

    The attempt number would not be unique: a stage that runs again counts attempts from 0.
    """
    context = TaskContext.get()
    return (0, 0) if context is None else (context.partitionId(), context.taskAttemptId())


def run_write(
    rows: DataFrame, task: WriteTask, tasks: int | None = None, source: SourceFiles | None = None
) -> WrittenFiles:
    """Runs the write task over `rows` in a job whose shuffles have at most `tasks` partitions if not None.

    With `source` tasks read the files of the query themselves if these have all columns that it gives. Raises the first
    error that a task reports, after a wait for all tasks to stop: the caller can remove their files.
    """
    require_levels(rows)
    if rows.columns[-1:] == [TASKS]:
        rows = _counting_tasks(rows)
    written = _run_packed(rows, task, tasks, None if source is None else source.stores(read_tables(rows)))
    if source is not None and BY_QUERY in written.counts:
        source.discard(written.data_files)
        return _run_packed(rows, task, tasks, None)
    return written


def _run_packed(
    rows: DataFrame, task: WriteTask, tasks: int | None, stores: Mapping[str, FileIO] | None
) -> WrittenFiles:
    sent = for_executors(rows.sparkSession.sparkContext, _unpacking(task, PackedColumns.of(rows.schema, stores or {})))
    job = packed(rows, by_task=stores is not None).mapInArrow(sent, from_arrow_schema(MESSAGE_SCHEMA))
    try:
        messages = collect_written(job, tasks)
    except Exception:
        _await_idle_executors(rows.sparkSession)
        raise
    return _gather(messages)


def run_numbered(
    spark: SparkSession, count: int, task: Callable[[int], Sequence[TaskMessage] | None]
) -> Sequence[tuple[int, TaskMessage | None]]:
    """Runs `task` for each number below `count`, each in a task of its own; its messages with the number, or None for a
    number of which it returned None. Raises as `run_write`, but not the errors that messages have."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in (number for batch in batches for number in batch.column(0).to_pylist()):
            messages = task(number)
            yield encode_messages([left_message(number)] if messages is None else messages)
            yield encode_messages([done_message(number)])

    sent = for_executors(spark.sparkContext, run)
    job = spark.range(0, count, 1, count).mapInArrow(sent, from_arrow_schema(MESSAGE_SCHEMA))
    try:
        batches = collect_written(job, None)
    except Exception:
        _await_idle_executors(spark)
        raise
    found: list[tuple[int, TaskMessage | None]] = []
    waiting: list[TaskMessage] = []
    for message in (message for batch in batches for message in decode_messages(batch)):
        match message.kind:
            case "left":
                found.append((int(message.path), None))
            case "done":
                found += [(int(message.path), one) for one in waiting]
                waiting = []
            case _:
                waiting.append(message)
    return found


def run_few(
    rows: DataFrame,
    task: WriteTask,
    most: int = ALL_ROWS,
    arranged: Callable[[DataFrame], DataFrame] | None = None,
    most_bytes: int = DRIVER_BYTES,
) -> WrittenFiles | None:
    """Runs the write task on the driver; None, with nothing written, if `collect_arranged` returns None for the rows.

    Raises the error that the task reports.
    """
    found = collect_arranged(rows, most, arranged, most_bytes)
    return None if found is None else write_on_driver(found, task)


def collect_arranged(
    rows: DataFrame,
    most: int,
    arranged: Callable[[DataFrame], DataFrame] | None = None,
    most_bytes: int = DRIVER_BYTES,
) -> pa.Table | None:
    """The rows, sorted by `arranged` if not None.

    None if there are more than `most` rows or than `most_bytes` as Arrow, or if Arrow lacks one of their types.
    """
    if not can_be_collected(rows):
        return None
    if arranged is None:
        return collect_few(rows, most, most_bytes)
    # The limit bounds the sort.
    return collect_few(arranged(rows if most == ALL_ROWS else rows.limit(most + 1)), most, most_bytes)


def find_positions(rows: DataFrame, *, shows_operations: bool = False) -> WrittenFiles:
    """The positions of a query without inserted rows, whose columns are `_file` and `_pos`.

    With `shows_operations` the query also has `__operation`: rows of the operation MATCH go to `matched`, and those of
    UPDATE are counted as `updated`.
    """
    found = WrittenFiles()
    if shows_operations:
        mark = F.lit("")
        for operation, prefix in _MARKS.items():
            mark = F.when(F.col("__operation") == operation, F.lit(prefix)).otherwise(mark)
        rows = rows.select(F.concat(mark, F.col("_file")).alias("_file"), "_pos")
    for marked, positions, repeated in collect_positions(rows):
        path = marked.lstrip("".join(_MARKS.values()))
        if marked.startswith(_MARKS[UPDATE]):
            found.counts["updated"] = found.counts.get("updated", 0) + len(positions)
        stay = marked.startswith(_MARKS[MATCH])
        _unite(found, found.matched if stay else found.positions, path, positions)
        if repeated:
            found.repeated.setdefault(path, BitMap64()).update(repeated)
    _compare(found)
    return found


def _await_idle_executors(spark: SparkSession) -> None:
    """Waits for the tasks of a failed job: they write until Spark kills them, and then their files can be removed."""
    tracker = java_context(spark.sparkContext).statusTracker()
    end = time.monotonic() + _LONGEST_WAIT_S
    while time.monotonic() < end and any(executor.numRunningTasks() for executor in tracker.getExecutorInfos()):
        time.sleep(0.1)
    time.sleep(_LAST_ROW_GROUP_S)


def _counting_tasks(rows: DataFrame) -> DataFrame:
    """The rows with the number of tasks of the job in the last column, where that is not null."""
    count = F.when(F.col(TASKS).isNotNull(), F.call_function("sqlext_task_count"))
    return rows.withColumn(TASKS, count)


def _unpacking(task: WriteTask, columns: PackedColumns) -> WriteTask:
    """The task, for packed rows of these columns."""

    def run(values: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return task(columns.unpacked(values))

    return run


def write_on_driver(rows: pa.Table | Iterator[pa.RecordBatch], task: WriteTask) -> WrittenFiles:
    """Runs the write task over Arrow rows on the driver. Raises the error that the task reports."""
    return _gather(list(task(iter(rows.to_batches()) if isinstance(rows, pa.Table) else rows)))


def _gather(batches: list[pa.RecordBatch]) -> WrittenFiles:
    return written_files(message for batch in batches for message in decode_messages(batch))


def written_files(messages: Iterable[TaskMessage]) -> WrittenFiles:
    """The results of all messages; positions that several messages have are `repeated`. Raises a task's error."""
    data: list[ContentFile] = []
    deletes: list[ContentFile] = []
    origins: list[TaskMessage] = []
    written = WrittenFiles()
    for message in messages:
        if message.kind == "error":
            raise _task_error(message)
        if message.kind == "file":
            file = message.content_file
            (data if file.content == Content.DATA else deletes).append(file)
        elif message.kind == "positions":
            _unite(written, written.positions, message.path, message.bitmap)
        elif message.kind == "matched":
            _unite(written, written.matched, message.path, message.bitmap)
        elif message.kind == "repeated":
            written.repeated.setdefault(message.path, BitMap64()).update(message.bitmap)
        elif message.kind in ("origins", "stored_origins"):
            origins.append(message)
        else:
            for name, count in message.counts.items():
                written.counts[name] = written.counts.get(name, 0) + count
    _compare(written)
    return replace(written, data_files=tuple(data), delete_files=tuple(deletes), origin_messages=tuple(origins))


def _unite(written: WrittenFiles, positions: dict[str, BitMap64], path: str, bitmap: BitMap64) -> None:
    known = positions.get(path)
    if known is None:
        positions[path] = bitmap
        return
    twice = known & bitmap
    if twice:
        written.repeated.setdefault(path, BitMap64()).update(twice)
    known.update(bitmap)


def _compare(written: WrittenFiles) -> None:
    """Adds positions that are both deleted and matched, by different source rows, to `repeated`."""
    for path, matched in written.matched.items():
        twice = matched & written.positions.get(path, BitMap64())
        if twice:
            written.repeated.setdefault(path, BitMap64()).update(twice)


def _task_error(message: TaskMessage) -> SqlextError:
    condition, parameters = message.error
    kind = StorageError if CONDITIONS[condition].sqlstate.startswith("58") else DataError
    return kind(condition, **parameters)
