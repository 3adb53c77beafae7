"""Deletion of rows whose time is long ago, by the properties `record-level.*` (Paimon's record-level expiration).

Paimon drops them in compactions. Here they are deleted by a commit of their own, before a compaction, so that feeds of
changes tell of them and a compaction stays one that changes no row.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from pyspark.sql import SparkSession

from sqlext.command.change.rerun import run_with_reruns
from sqlext.command.change.row_deletion import planned_delete
from sqlext.command.environment import Environment
from sqlext.commit.rules.retention_rules import RecordRetention, record_retention
from sqlext.spec.types import DateType, IntegerType, LongType, TimestampType
from sqlext.sql.statements.statement import Delete, Slice, TableName
from sqlext.sql.tokens.quoting import quote_identifier

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# From here on a BIGINT is a number of milliseconds, as Paimon has it: as one of seconds it is the year 33658.
_FIRST_MILLISECONDS = 10**12


def delete_expired_rows(environment: Environment, spark: SparkSession, name: TableName) -> int | None:
    """Deletes what the table's properties say is expired; returns how many rows, None if they say nothing.

    Raises as a DELETE.
    """
    metadata = environment.catalogs.load(name.parts).metadata
    retention = record_retention(metadata.schema(), metadata.properties, str(name))
    if retention is None:
        return None
    condition = expired_condition(retention, environment.clock())
    statement = Delete(name, where=Slice(condition, 0, len(condition)))

    def run(environment: Environment) -> int | None:
        target, planned = planned_delete(environment, spark, statement)
        return planned.carry_out(environment, spark, target).deleted

    return run_with_reruns(environment, name.parts, run)


def expired_condition(retention: RecordRetention, now_ms: int) -> str:
    """SQL that holds for the rows that are expired at a time in milliseconds since 1970."""
    column, type, before_ms = quote_identifier(retention.field.name), retention.field.type, now_ms - retention.age_ms
    if isinstance(type, IntegerType):
        return f"{column} < {_in_range(before_ms // 1000)}"
    if isinstance(type, LongType):
        first = _FIRST_MILLISECONDS
        in_milliseconds = f"{column} >= {first} AND {column} < {before_ms}"
        return f"{column} < {min(before_ms // 1000, first)} OR ({in_milliseconds})"
    before = _EPOCH + timedelta(milliseconds=max(before_ms, 0))
    if isinstance(type, DateType):
        return f"{column} < DATE'{before:%Y-%m-%d}'"
    text = before.strftime("%Y-%m-%d %H:%M:%S.%f")
    if isinstance(type, TimestampType):
        return f"{column} < TIMESTAMP_NTZ'{text}'"
    return f"{column} < TIMESTAMP_LTZ'{text} UTC'"


def _in_range(seconds: int) -> int:
    """A number that an INT can be compared with without being widened."""
    return max(min(seconds, 2**31 - 1), -(2**31))
