"""Rows of tables before and after changes that are previewed and undone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeAlias

from pyspark.sql import SparkSession
from pyspark.sql.types import VariantVal

Rows: TypeAlias = Counter[Any]
"""How often each row is there, with values that can be hashed."""


def table_rows(spark: SparkSession, table: str) -> Rows:
    return Counter(frozen(tuple(row)) for row in spark.sql(f"SELECT * FROM {table}").collect())


def frozen(value: Any) -> Any:
    """The value, also a nested one, such that equal ones are found."""
    match value:
        case dict():
            return tuple(sorted(((frozen(key), frozen(one)) for key, one in value.items()), key=repr))
        case list() | tuple():
            return tuple(map(frozen, value))
        case VariantVal():
            return repr(value.toPython())
        case None | bool() | int() | float() | str():
            return value
    return str(value)


def applied(before: Rows, preview: Iterable[Iterable[Any]]) -> Rows:
    """The rows after the changes that a preview shows."""
    after = Counter(before)
    for kind, *row in preview:
        after[frozen(row)] += 1 if kind in ("insert", "update_postimage") else -1
    assert min(after.values(), default=0) >= 0, "it shows a row that is not there"
    return +after


def head(spark: SparkSession, table: str, branch: str = "main") -> int:
    """The id of the newest snapshot of a branch."""
    text = f"SELECT snapshot_id FROM {table}.refs WHERE name = '{branch}'"
    return int(spark.sql(text).collect()[0][0])


def last_change(spark: SparkSession, table: str) -> int:
    """The id of the newest snapshot that is no compaction: a table may compact itself after each commit."""
    text = f"SELECT snapshot_id FROM {table}.snapshots WHERE operation <> 'replace' ORDER BY committed_at DESC LIMIT 1"
    return int(spark.sql(text).collect()[0][0])


def undo(spark: SparkSession, table: str, snapshot: int, more: str = "") -> tuple[int, ...]:
    """The row that the procedure answers; `table` has the catalog's name, and may have a branch."""
    catalog, _, name = table.partition(".")
    return tuple(spark.sql(f"CALL {catalog}.system.undo('{name}', {snapshot}{more})").collect()[0])


def compact(spark: SparkSession, table: str) -> None:
    catalog, _, name = table.partition(".")
    spark.sql(f"CALL {catalog}.system.compact('{name}', full => true)")
