"""Key upsert: each source row is a row of the table afterwards, and what it replaces is found by its key."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.command.environment import Environment
from sqlext.command.outcome import Counts
from sqlext.command.row_level import Target
from sqlext.command.strategy.strategy import RowChange
from sqlext.command.upsert import upsert_by_equality, upsert_by_lookup


def equality_upsert(environment: Environment, spark: SparkSession, target: Target, change: RowChange) -> Counts:
    """Equality deletes of the keys, the target not read; see `Strategy`."""
    return upsert_by_equality(environment, spark, target, change.lowered)


def lookup_upsert(environment: Environment, spark: SparkSession, target: Target, change: RowChange) -> Counts:
    """Positions of rows whose keys the driver reads; see `Strategy`."""
    return upsert_by_lookup(environment, spark, target, change.lowered, change.isolation)
