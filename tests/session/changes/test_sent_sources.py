"""A MERGE whose source turns out to have few rows: Spark sends them to all tasks, with the result of a shuffle."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from sessions import planned
from sqlext.command.change import row_change

# Keys 0 to 2999 with copies, nulls and NaN; the source has some of these, and others.
TARGET = """
  SELECT IF(id % 50 = 7, NULL, id) AS k, IF(id % 40 = 3, double('nan'), IF(id % 40 = 4, -0.0D, id / 4)) AS d,
    concat('row ', id) AS v, id AS n
  FROM range(3000)
"""
SOURCE = """
  SELECT IF(id % 5 = 2, NULL, id * 3) AS k, IF(id % 7 = 3, double('nan'), IF(id % 7 = 4, 0.0D, id / 4)) AS d,
    concat('new ', id) AS v, id AS n
  FROM {table}_source WHERE {condition}
"""
SOME, ALL = "pmod(hash(id), 10) < 4", "id >= 0"
KEYS, BOTH = "t.k = s.k", "t.k <=> s.k AND t.n = 3 * s.n"
MERGES = {
    "update": (KEYS, "WHEN MATCHED THEN UPDATE SET v = s.v"),
    "whole rows": (KEYS, "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"),
    "nulls": (BOTH, "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED AND s.n % 2 = 0 THEN INSERT *"),
    "conditions": (
        f"{KEYS} AND t.n > 30 AND length(s.v) > 4",
        "WHEN MATCHED AND s.n % 3 = 0 THEN DELETE WHEN MATCHED AND t.n % 2 = 0 THEN UPDATE SET v = 'even'"
        " WHEN NOT MATCHED AND s.k > 100 THEN INSERT (k, v) VALUES (s.k, 'inserted')",
    ),
    "delete": (KEYS, "WHEN MATCHED THEN DELETE"),
    "floats": ("t.d = s.d AND t.n = s.n", "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"),
    "by source": (KEYS, "WHEN NOT MATCHED BY SOURCE AND t.n % 2 = 0 THEN UPDATE SET v = 'alone'"),
    "insert": (KEYS, "WHEN NOT MATCHED THEN INSERT *"),
}
NOT_BY_SOURCE = "WHEN NOT MATCHED BY SOURCE AND t.n % 9 = 0 THEN DELETE"
FULL_JOIN = (KEYS, f"{MERGES['whole rows'][1]} {NOT_BY_SOURCE}")


@pytest.fixture(autouse=True)
def nothing_is_small(spark: SparkSession) -> Iterator[None]:
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "1")
    yield
    spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")


@contextmanager
def counted(spark: SparkSession, most_bytes: int) -> Iterator[list[bool]]:
    """Whether the source of each change in the block was sent, with this as the most that is."""
    sent: list[bool] = []
    original = row_change.with_few_joined

    def wrapped(rows: DataFrame, most: int) -> DataFrame:
        found = original(rows, most)
        sent.append("BroadcastHashJoin" in found._jdf.queryExecution().executedPlan().toString())
        return found

    spark.conf.set("sqlext.plan.driver-bytes", str(most_bytes))
    try:
        with planned(spark, force="tasks"), patch.object(row_change, "with_few_joined", wrapped):
            yield sent
    finally:
        spark.conf.unset("sqlext.plan.driver-bytes")


def made(spark: SparkSession, name: str, mode: str, version: int) -> None:
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    properties = f"'format-version'='{version}', 'write.merge.mode'='{mode}', 'write.merge.cardinality-check'='changes'"
    spark.sql(f"CREATE TABLE {name} (k BIGINT, d DOUBLE, v STRING, n BIGINT) TBLPROPERTIES ({properties})")
    spark.sql(f"INSERT INTO {name} {TARGET}")
    spark.sql(f"CREATE OR REPLACE TABLE {name}_source AS SELECT id FROM range(1200)")


def rows_of(spark: SparkSession, name: str) -> list[str]:
    return sorted(map(repr, spark.table(name).collect()))


def merge(name: str, parts: tuple[str, str], condition: str = SOME) -> str:
    on, clauses = parts
    return f"MERGE INTO {name} AS t USING ({SOURCE.format(table=name, condition=condition)}) AS s ON {on} {clauses}"


@pytest.mark.parametrize(("mode", "version"), [("merge-on-read", 3), ("copy-on-write", 2), ("auto", 3)])
def test_rows_are_those_of_a_shuffle(spark: SparkSession, table_name: str, mode: str, version: int) -> None:
    for case, parts in MERGES.items():
        found = {}
        for most in (100_000, 1_000):
            made(spark, table_name, mode, version)
            with counted(spark, most) as sent:
                answer = spark.sql(merge(table_name, parts)).collect()
            # Rows that are only inserted are found by an anti join, which asks for no places; `auto` writes kept rows.
            assert any(sent) == (most == 100_000 and case != "insert"), (case, most)
            found[most] = (answer, rows_of(spark, table_name))
        assert found[100_000] == found[1_000], case
        assert found[1_000][0][0].num_affected_rows > 50, case
    spark.sql(f"DROP TABLE {table_name}_source")


def test_what_is_not_sent(spark: SparkSession, table_name: str) -> None:
    made(spark, table_name, "merge-on-read", 3)
    update = MERGES["update"]
    counting = f"{SOME} AND id IN (SELECT max(id) FROM {table_name}_source GROUP BY id)"
    for parts, condition in ((FULL_JOIN, SOME), (update, f"{SOME} AND rand() < id + 2"), (update, counting)):
        with counted(spark, 100_000) as sent:
            spark.sql(merge(table_name, parts, condition))
        assert sent == [False]
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    with counted(spark, 100_000) as sent:
        spark.sql(merge(table_name, MERGES["update"]))
    assert sent == [False]


def test_explain_tells_it(spark: SparkSession, table_name: str) -> None:
    made(spark, table_name, "merge-on-read", 3)
    told = "tasks get all rows of the source if these have at most 100,000 bytes; else both sides are shuffled"
    with counted(spark, 100_000) as sent:
        assert told in str(spark.sql(f"EXPLAIN {merge(table_name, MERGES['whole rows'])}").head()[0])
        assert told not in str(spark.sql(f"EXPLAIN {merge(table_name, FULL_JOIN)}").head()[0])
    assert sent == []


@pytest.mark.parametrize("force", ["completed-by-tasks", "copy-on-write"])
def test_explain_tells_of_the_query_without_the_columns_that_tasks_read(
    spark: SparkSession, table_name: str, force: str
) -> None:
    """With them the table has 200,000 bytes, as Spark expects them, and 120,000 without."""
    made(spark, table_name, "merge-on-read", 2)
    statement = merge(table_name, (KEYS, "WHEN MATCHED THEN UPDATE SET n = s.n"))
    for most, is_sent in ((100_000, True), (150_000, False)):
        with counted(spark, most) as sent:
            spark.conf.set("sqlext.plan.force", force)
            told = f"tasks get all rows of the source if these have at most {most:,} bytes"
            assert (told in str(spark.sql(f"EXPLAIN {statement}").head()[0])) == is_sent
            spark.sql(statement)
        assert sent == [is_sent]


def test_two_source_rows_of_a_target_row_are_refused(spark: SparkSession, table_name: str) -> None:
    made(spark, table_name, "merge-on-read", 3)
    before = rows_of(spark, table_name)
    statement = merge(table_name, ("t.n = s.n DIV 2", MERGES["update"][1]))
    with counted(spark, 100_000) as sent, pytest.raises(PySparkException, match="MERGE_CARDINALITY_VIOLATION"):
        spark.sql(statement)
    assert sent == [True]
    assert rows_of(spark, table_name) == before
