"""Key upsert: each source row is a row of the table afterwards, and what it replaces is found by its key."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

from sqlext.command.change.row_level import Target
from sqlext.command.change.strategy import Choice, RowChange, Strategy
from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.upsert.change_batch import plain_batch
from sqlext.command.upsert.upsert import replace_by_key, upsert_by_equality, upsert_by_lookup, upsert_few_by_lookup
from sqlext.spark.query.lowered_sql import lowered_query
from sqlext.spark.session import journal


def equality_upsert(environment: Environment, spark: SparkSession, target: Target, change: RowChange) -> Counts:
    """Equality deletes of the keys, the target not read; see `Strategy`."""
    return upsert_by_equality(environment, target, plain_batch(target, _new_rows(spark, change)))


def lookup_upsert(weighed: Choice | None, larger: Choice) -> Strategy:
    """Positions of rows whose keys the driver reads; `larger` where the source turns out to be no small one. See
    `Strategy` and `Choice.weighed`."""

    def run(environment: Environment, spark: SparkSession, target: Target, change: RowChange) -> Counts:
        batch = plain_batch(target, _new_rows(spark, change))
        counts = upsert_by_lookup(environment, spark, target, batch, change.isolation, weighed)
        return larger.carry_out(environment, spark, target) if counts is None else counts

    return run


def few_upsert(rows: RowChange) -> Callable[[Environment, SparkSession, Target, RowChange], Counts | None]:
    """The same of `rows` if they turn out to be few; else None, and nothing is written."""

    def run(environment: Environment, spark: SparkSession, target: Target, change: RowChange) -> Counts | None:
        batch = plain_batch(target, _new_rows(spark, rows))
        return upsert_few_by_lookup(environment, spark, target, batch, change.isolation)

    return run


def changelog_upsert(environment: Environment, spark: SparkSession, target: Target, change: RowChange) -> Counts:
    """Rows that have kinds, or among which an order decides; see `Strategy`."""
    return replace_by_key(environment, spark, target, _new_rows(spark, change), isolation=change.isolation)


def _new_rows(spark: SparkSession, change: RowChange) -> DataFrame:
    journal.record(change.lowered)
    return lowered_query(spark, change.lowered)
