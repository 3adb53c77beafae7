"""Rows by their keys as `sqlext.lookup` reads them without a query, beside those of its statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Row, SparkSession

import sqlext
from sessions import planned
from sqlext.given_keys import KeyColumn, distinct_keys
from sqlext.notebook.shown_table import full_name
from sqlext.spark.bridge.gateway import attached_bridge
from sqlext.spark.scan.driver_read import MOST_FILES


def by_process(
    spark: SparkSession, table: str, keys: Sequence[Any], columns: Sequence[str] | None = None
) -> list[Row] | None:
    """The rows, None if a query reads them."""
    bridge = attached_bridge(spark.sparkContext)
    assert bridge is not None
    version = bridge.rows.version(spark, full_name(spark, table))
    if version is None:
        return None
    given = distinct_keys([KeyColumn(*one) for one in version.key], keys, table)
    return bridge.rows.rows(version, given, columns)


def both_ways(
    spark: SparkSession,
    table: str,
    keys: Sequence[Any],
    columns: Sequence[str] | None = None,
    *,
    told: str = "",
    joined: bool = False,
) -> list[Row]:
    """The rows, which the process reads, and which are those of the statement; these alone where there are many files,
    or, as `joined` says, equality deletes that only a join applies."""
    found = by_process(spark, table, keys, columns)
    if found is None:
        assert joined or spark.table(f"{table}.data_files").count() > MOST_FILES, f"a query reads {table} {told}"
        return sqlext.lookup(spark, table, keys, columns)
    with planned(spark, looked_up_rows=0):
        assert by_process(spark, table, keys, columns) is None
        stated = sqlext.lookup(spark, table, keys, columns)
    assert sorted(map(repr, found)) == sorted(map(repr, stated)), told
    assert [one.__fields__ for one in found[:1]] == [one.__fields__ for one in stated[:1]]
    return found
