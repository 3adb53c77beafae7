"""One Spark job that writes: the rows of a DataFrame go through a write task, its messages come to the driver.

A change known to be small comes to the driver as Arrow and goes through the same task there, since a Python worker's
start costs more than such a write. So does one that is likely to be, up to a number of rows. Rows of any other change
never pass through the driver.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyroaring import BitMap64
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import DecimalType

from sqlext.error_conditions import CONDITIONS
from sqlext.errors import DataError, SqlextError, StorageError
from sqlext.spark.query.driver_rows import (
    DRIVER_BYTES,
    can_be_collected,
    collect_few,
    collect_positions,
    collect_written,
    require_levels,
)
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.thresholds import ALL_ROWS
from sqlext.write.commit_message import MESSAGE_SCHEMA, TaskMessage, decode_messages
from sqlext.write.row_operation import MATCH

WriteTask = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

_MAX_LONG_DIGITS = 18
# Before the path of a file, in a query of positions: its rows stay. No path begins so.
_STAYS = "\0"
# Spark gives a cancelled task's Python two seconds; other jobs may keep the executors busy for longer.
_LONGEST_WAIT_S = 10.0
# A Python worker learns that its task has ended when it next asks for rows, after the row group it is at.
_LAST_ROW_GROUP_S = 2.0


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """What the tasks of a job handed back.

    `positions` are the deleted positions by data file, `matched` those of rows that stay and that a source row matches,
    and `repeated` those of either that more than one source row named.
    """

    data_files: tuple[ContentFile, ...] = ()
    delete_files: tuple[ContentFile, ...] = ()
    positions: dict[str, BitMap64] = field(default_factory=dict)
    matched: dict[str, BitMap64] = field(default_factory=dict)
    repeated: dict[str, BitMap64] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)


def task_identity() -> tuple[int, int]:
    """Partition number of the running task and the id of its attempt, unique in the application; (0, 0) on the driver.

    Not the attempt's number: a stage that runs again counts its attempts from 0 again.
    """
    context = TaskContext.get()
    return (0, 0) if context is None else (context.partitionId(), context.taskAttemptId())


def run_write(rows: DataFrame, task: WriteTask, tasks: int | None = None) -> WrittenFiles:
    """Runs the job, whose shuffles have `tasks` tasks at most; None: as many as the session says.

    Errors: the first error a task reports; the caller removes the files of the operation.
    """
    require_levels(rows)
    job = _with_digits(_numbered(rows)).mapInArrow(_named(task, rows.columns), from_arrow_schema(MESSAGE_SCHEMA))
    try:
        messages = collect_written(job, tasks)
    except Exception:
        _await_idle_executors(rows.sparkSession)
        raise
    return _gather(messages)


def run_few(
    rows: DataFrame,
    task: WriteTask,
    most: int = ALL_ROWS,
    arranged: Callable[[DataFrame], DataFrame] | None = None,
    most_bytes: int = DRIVER_BYTES,
) -> WrittenFiles | None:
    """Runs the task on the driver if there are at most `most` rows, of no more than `most_bytes` as Arrow.

    Else None, and nothing is written.

    Errors as `run_write`. See `collect_arranged`.
    """
    found = collect_arranged(rows, most, arranged, most_bytes)
    return None if found is None else write_on_driver(found, task)


def collect_arranged(
    rows: DataFrame,
    most: int,
    arranged: Callable[[DataFrame], DataFrame] | None = None,
    most_bytes: int = DRIVER_BYTES,
) -> pa.Table | None:
    """The rows, which `arranged` sorts.

    None where there are more than `most`, or of more than `most_bytes` as Arrow, or where Arrow cannot have them.
    """
    if not can_be_collected(rows):
        return None
    if arranged is None:
        return collect_few(rows, most, most_bytes)
    # No more than these are sorted.
    return collect_few(arranged(rows if most == ALL_ROWS else rows.limit(most + 1)), most, most_bytes)


def find_positions(rows: DataFrame, *, shows_matches: bool = False) -> WrittenFiles:
    """The deleted positions of a query that has no new rows, only columns `_file` and `_pos`.

    With `shows_matches` it has `__operation` too, and rows that are only matched among them.
    """
    found = WrittenFiles()
    if shows_matches:
        stays = F.when(F.col("__operation") == MATCH, F.lit(_STAYS)).otherwise(F.lit(""))
        rows = rows.select(F.concat(stays, F.col("_file")).alias("_file"), "_pos")
    for marked, positions, repeated in collect_positions(rows):
        path = marked.removeprefix(_STAYS)
        _unite(found, found.positions if path == marked else found.matched, path, positions)
        if repeated:
            found.repeated.setdefault(path, BitMap64()).update(repeated)
    _compare(found)
    return found


def _await_idle_executors(spark: SparkSession) -> None:
    """Tasks of a job that failed go on writing until Spark kills them; only then can their files be removed."""
    tracker = spark.sparkContext._jsc.sc().statusTracker()
    end = time.monotonic() + _LONGEST_WAIT_S
    while time.monotonic() < end and any(executor.numRunningTasks() for executor in tracker.getExecutorInfos()):
        time.sleep(0.1)
    time.sleep(_LAST_ROW_GROUP_S)


def _with_digits(rows: DataFrame) -> DataFrame:
    """Decimals of up to 18 digits as these digits: Spark makes a BigDecimal of each value it hands to Arrow.

    The columns are `_numbered`.
    """
    columns = []
    for stored in rows.schema.fields:
        column = F.col(stored.name)
        if isinstance(stored.dataType, DecimalType) and stored.dataType.precision <= _MAX_LONG_DIGITS:
            column = F.call_function("sqlext_unscaled", column).alias(stored.name)
        columns.append(column)
    return rows.select(*columns)


def _numbered(rows: DataFrame) -> DataFrame:
    """The columns with names that `mapInArrow` finds: it takes a backtick in a name for a quote, and two names that
    differ in case for one."""
    return rows.toDF(*(str(number) for number in range(len(rows.columns))))


def _named(task: WriteTask, names: list[str]) -> WriteTask:
    """A task for the same rows with other names."""

    def renamed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return task(batch.rename_columns(names) for batch in batches)

    return renamed


def write_on_driver(rows: pa.Table | Iterator[pa.RecordBatch], task: WriteTask) -> WrittenFiles:
    """Runs the task over rows that are here already. Errors: the error that the task reports."""
    return _gather(list(task(iter(rows.to_batches()) if isinstance(rows, pa.Table) else rows)))


def _gather(batches: list[pa.RecordBatch]) -> WrittenFiles:
    """Adds the tasks' messages up; bitmaps of one file are united, and bits set twice noted."""
    data: list[ContentFile] = []
    deletes: list[ContentFile] = []
    written = WrittenFiles()
    for message in (message for batch in batches for message in decode_messages(batch)):
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
        else:
            for name, count in message.counts.items():
                written.counts[name] = written.counts.get(name, 0) + count
    _compare(written)
    return replace(written, data_files=tuple(data), delete_files=tuple(deletes))


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
    """What is deleted and matched by another source row too has come twice."""
    for path, matched in written.matched.items():
        twice = matched & written.positions.get(path, BitMap64())
        if twice:
            written.repeated.setdefault(path, BitMap64()).update(twice)


def _task_error(message: TaskMessage) -> SqlextError:
    condition, parameters = message.error
    kind = StorageError if CONDITIONS[condition].sqlstate.startswith("58") else DataError
    return kind(condition, **parameters)
