"""Writing of a query's rows by the planned writer: on the driver if they are few, else in tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from sqlext.command.plan.change_plan import Writer
from sqlext.spark.query.driver_rows import checkpointed, estimate
from sqlext.spark.query.write_job import SourceFiles, WriteTask, WrittenFiles, run_few, run_write
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.thresholds import ALL_ROWS
from sqlext.write.task import BY_QUERY


@dataclass(frozen=True, slots=True)
class AttemptInTasks:
    """A task that ends with the count `BY_QUERY` if it cannot do its rows; `discard` removes what others have written
    then."""

    task: WriteTask
    discard: Callable[[Sequence[ContentFile]], None]


@dataclass(frozen=True, slots=True)
class FewerColumns:
    """The query without columns that an UPDATE or MERGE does not assign, and tasks that read these from the data
    files: `few` for the driver, and `many` for Spark's tasks, if these may."""

    rows: DataFrame
    few: WriteTask
    many: AttemptInTasks | None = None


def write_by(
    writer: Writer,
    rows: DataFrame,
    task: WriteTask,
    in_tasks: Callable[[DataFrame], DataFrame],
    arranged: Callable[[DataFrame], DataFrame] | None = None,
    fewer: FewerColumns | None = None,
    source: SourceFiles | None = None,
) -> WrittenFiles:
    """Runs `task` over `rows`, on the driver or in tasks. Raises as `run_write`.

    `arranged` sorts rows for the driver, `in_tasks` distributes and sorts them for tasks. The driver takes `fewer`
    instead of `rows`, unless its query may have to run again and is not repeatable. `source` is as in `run_write`.
    """
    if not writer.most_bytes:
        return _by_tasks(writer, rows, task, in_tasks, fewer, source)
    if fewer is not None:
        expected = estimate(fewer.rows, writer.most_bytes)
        if expected.is_small or expected.repeatable:
            most = ALL_ROWS if expected.is_small else max(writer.completed_rows, writer.tried_rows)
            written = run_few(fewer.rows, fewer.few, most, arranged, most_bytes=writer.most_bytes) if most else None
            return written or _by_tasks(writer, rows, task, in_tasks, fewer, source)
    expected = estimate(rows, writer.most_bytes)
    most = ALL_ROWS if expected.is_small else writer.tried_rows
    if not expected.is_small and writer.tries_filtered and not expected.may_be_few:
        most = 0
    written = None
    if most:
        if not (expected.is_small or expected.repeatable):
            rows = checkpointed(rows, writer.tasks)
        written = run_few(rows, task, most, arranged, most_bytes=writer.most_bytes)
    return written or run_write(in_tasks(rows), task, writer.tasks, source)


def _by_tasks(
    writer: Writer,
    rows: DataFrame,
    task: WriteTask,
    in_tasks: Callable[[DataFrame], DataFrame],
    fewer: FewerColumns | None,
    source: SourceFiles | None,
) -> WrittenFiles:
    if fewer is not None and fewer.many is not None:
        written = run_write(in_tasks(fewer.rows), fewer.many.task, writer.tasks)
        if BY_QUERY not in written.counts:
            return written
        fewer.many.discard(written.data_files)
    return run_write(in_tasks(rows), task, writer.tasks, source)
