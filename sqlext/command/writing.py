"""Writes the rows of a query as the writer of a plan says: by the driver, if they are few, or in Spark's tasks."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame

from sqlext.command.plan.change_plan import Writer
from sqlext.spark.query.driver_rows import estimate
from sqlext.spark.query.write_job import WriteTask, WrittenFiles, run_few, run_write
from sqlext.thresholds import ALL_ROWS


def write_by(
    writer: Writer,
    rows: DataFrame,
    task: WriteTask,
    in_tasks: Callable[[DataFrame], DataFrame],
    arranged: Callable[[DataFrame], DataFrame] | None = None,
) -> WrittenFiles:
    """Runs the task over the rows. `arranged` sorts those that the driver takes, `in_tasks` spreads and sorts others.

    A result that may differ when the query runs again is held by Spark before the driver tries to take it.
    """
    if not writer.most_bytes:
        return run_write(in_tasks(rows), task)
    expected = estimate(rows, writer.most_bytes)
    most = ALL_ROWS if expected.is_small else writer.tried_rows
    if not expected.is_small and writer.tries_filtered and not expected.may_be_few:
        most = 0
    written = None
    if most:
        if not (expected.is_small or expected.repeatable):
            rows = rows.localCheckpoint()
        written = run_few(rows, task, most, arranged, most_bytes=writer.most_bytes)
    return written or run_write(in_tasks(rows), task)
