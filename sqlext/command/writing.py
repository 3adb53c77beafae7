"""Writing of a query's rows by the planned writer: on the driver if they are few, else in tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame

from sqlext.command.plan.change_plan import Writer
from sqlext.spark.query.driver_rows import checkpointed, estimate
from sqlext.spark.query.write_job import SourceFiles, WriteTask, WrittenFiles, run_few, run_write
from sqlext.thresholds import ALL_ROWS


@dataclass(frozen=True, slots=True)
class FewerColumns:
    """The query without columns that an UPDATE or MERGE does not assign, and a task that reads these from the data
    files."""

    rows: DataFrame
    task: WriteTask


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
        return run_write(in_tasks(rows), task, writer.tasks, source)
    if fewer is not None:
        expected = estimate(fewer.rows, writer.most_bytes)
        if expected.is_small or expected.repeatable:
            most = ALL_ROWS if expected.is_small else max(writer.completed_rows, writer.tried_rows)
            written = run_few(fewer.rows, fewer.task, most, arranged, most_bytes=writer.most_bytes) if most else None
            return written or run_write(in_tasks(rows), task, writer.tasks)
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
