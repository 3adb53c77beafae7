"""Iceberg's transforms as functions: their values, filters on them, and joins of tables partitioned by them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from sqlext.command.ddl import describe_function


def rows(spark: SparkSession, query: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.sql(query).collect()), key=repr)


def plan(spark: SparkSession, query: str) -> str:
    text: str = spark.sql(query)._jdf.queryExecution().executedPlan().toString()
    return text


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> str:
    """Two days, four buckets, a struct."""
    spark.sql(
        "CREATE TABLE lake.db.transform_events (id INT, ts TIMESTAMP_NTZ, name STRING, point STRUCT<x: INT, y: INT>) "
        "PARTITIONED BY (days(ts), bucket(4, id))"
    )
    spark.sql(
        """INSERT INTO lake.db.transform_events
        SELECT id, TIMESTAMP_NTZ'2024-01-01 12:00:00' + make_dt_interval(id % 2), 'name ' || id,
          IF(id = 3, NULL, named_struct('x', id, 'y', -id)) FROM range(12)"""
    )
    return "lake.db.transform_events"


def test_values_are_those_of_the_spec(spark: SparkSession) -> None:
    """spec: Appendix B; the hashes of 34 and 'iceberg' are 2017239379 and 1210000089."""
    assert rows(
        spark,
        """SELECT lake.system.bucket(100, 34), lake.system.bucket(100, 34L), lake.system.bucket(100, 'iceberg'),
          lake.system.bucket(100, DATE'2017-11-16'), lake.system.bucket(100, 14.20BD), lake.system.bucket(4, NULL::INT),
          lake.system.bucket(100, 7Y)""",
    ) == [(79, 79, 89, 26, 59, None, rows(spark, "SELECT lake.system.bucket(100, 7)")[0][0])]
    assert rows(
        spark,
        """SELECT lake.system.truncate(10, -1), lake.system.truncate(10, 12L),
          lake.system.truncate(3, 'iceberg'), lake.system.truncate(50, 10.65BD), lake.system.truncate(2, X'010203'),
          lake.system.truncate(2, NULL::STRING)""",
    ) == [(-10, 10, "ice", rows(spark, "SELECT 10.50BD")[0][0], bytearray([1, 2]), None)]
    assert [
        tuple(map(str, row))
        for row in rows(
            spark,
            """SELECT lake.system.years(DATE'1969-12-31'), lake.system.months(TIMESTAMP_NTZ'1969-12-31 23:00:00'),

              lake.system.days(TIMESTAMP_NTZ'1969-12-31 23:00:00'),
              lake.system.hours(TIMESTAMP_NTZ'1970-01-01 01:59:00'),
              lake.system.days(NULL::DATE)""",
        )
    ] == [("-1", "-1", "1969-12-31", "1", "None")]
    assert rows(spark, "SELECT lake.system.iceberg_version()") == [("sqlext",)]
    with pytest.raises(Exception, match="hours"):
        spark.sql("SELECT lake.system.hours(DATE'2024-01-01')").collect()


@pytest.mark.parametrize(
    ("condition", "is_tested_again"),
    [
        ("lake.system.days(ts) = DATE'2024-01-01'", False),
        ("lake.system.days(ts) > DATE'2024-01-01'", False),
        ("lake.system.days(ts) IN (DATE'2024-01-01', DATE'2024-01-05')", False),
        ("lake.system.bucket(4, id) = 3", False),
        ("lake.system.bucket(4, id) <> 3", False),
        ("lake.system.bucket(8, id) = 3", True),
        ("lake.system.hours(ts) > 1000000", False),
        ("ts >= TIMESTAMP_NTZ'2024-01-02 00:00:00'", False),
        ("ts >= TIMESTAMP_NTZ'2024-01-01 13:00:00'", False),
        ("lake.system.truncate(5, name) = 'name '", False),
        ("id BETWEEN 0 AND 11", False),
        ("id <=> 3", True),
        ("NOT id <=> 3", True),
        ("point.x > 5", True),
        ("point.x IS NULL", True),
        ("NOT point.x <=> 4", True),
        ("name LIKE 'name 1%'", True),
        ("name LIKE 'na%' AND id >= 0", False),
        ("id IN (1, 2, 99) OR point.y = -7", True),
        ("true", False),
        ("id IS NOT NULL", False),
        ("id = NULL", False),
    ],
)
def test_filters_select_the_same_rows(spark: SparkSession, events: str, condition: str, is_tested_again: bool) -> None:
    query = f"SELECT id FROM {events} WHERE {condition}"
    frame = spark.createDataFrame(spark.table(events).collect(), spark.table(events).schema)
    frame.createOrReplaceTempView("copied_events")
    assert rows(spark, query) == rows(spark, f"SELECT id FROM copied_events WHERE {condition}")
    assert ("Filter " in plan(spark, query)) is is_tested_again


def test_filters_on_buckets_leave_out_files(spark: SparkSession, events: str) -> None:
    scanned = spark.sql(f"SELECT DISTINCT _file FROM {events} WHERE lake.system.bucket(4, id) = 3").count()
    assert 0 < scanned <= 2


@pytest.mark.parametrize("partitioning", ["day", "days(ts)", "months(ts)", "bucket(4, id)", "day, bucket(4, id)"])
def test_tables_partitioned_alike_join_without_a_shuffle(spark: SparkSession, partitioning: str) -> None:
    names = [f"lake.db.alike_{side}_{abs(hash(partitioning)) % 10**8}" for side in ("a", "b")]
    for name in names:
        spark.sql(f"CREATE TABLE {name} (id INT, day DATE, ts TIMESTAMP_NTZ, v STRING) PARTITIONED BY ({partitioning})")
        spark.sql(
            f"""INSERT INTO {name} SELECT id, DATE'2024-01-30' + CAST(id % 4 AS INT),
              TIMESTAMP_NTZ'2024-01-30 00:00:00' + make_dt_interval(id % 4), '{name[-1]}' || id FROM range(40)"""
        )
    spark.sql(
        f"INSERT INTO {names[0]} VALUES (NULL, NULL, NULL, 'none'), "
        "(77, DATE'2025-01-01', TIMESTAMP_NTZ'2025-01-01 00:00:00', 'x')"
    )
    query = (
        f"SELECT a.id, a.v, b.v FROM {names[0]} a JOIN {names[1]} b ON a.id = b.id AND a.day = b.day AND a.ts = b.ts"
    )
    expected = rows(spark, query)
    assert len(expected) == 40
    settings = {
        "spark.sql.iceberg.planning.preserve-data-grouping": "true",
        # The default since Spark 4.1.
        "spark.sql.sources.v2.bucketing.enabled": "true",
        "spark.sql.requireAllClusterKeysForCoPartition": "false",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.adaptive.enabled": "false",
    }
    before = {name: spark.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        assert "Exchange" not in plan(spark, query)
        assert rows(spark, query) == expected
        spark.sql(f"ALTER TABLE {names[0]} ADD PARTITION FIELD truncate(1, v)")
        spark.sql(f"INSERT INTO {names[0]} VALUES (3, NULL, NULL, 'later')")
        assert "Exchange" in plan(spark, query)
        assert rows(spark, query) == expected
        lonely = f"SELECT count(v) FROM {names[1]} GROUP BY day"
        assert sorted(row[0] for row in spark.sql(lonely).collect()) == [10] * 4
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)


_DESCRIBED = frozenset(describe_function._USAGES)


def test_each_function_is_described() -> None:
    source = (Path(__file__).parents[3] / "jvm-shim" / "interface" / "TransformFunction.scala").read_text()
    assert set(re.findall(r'new TransformFunction\("(\w+)"', source)) == _DESCRIBED


@pytest.mark.parametrize("name", sorted(_DESCRIBED))
def test_the_example_of_a_description_is_true(spark: SparkSession, name: str) -> None:
    *_, example, result = [row[0] for row in spark.sql(f"DESCRIBE FUNCTION EXTENDED lake.system.{name}").collect()]
    answered = spark.sql(example.strip().removeprefix(">").removesuffix(";")).collect()[0][0]
    assert str(answered) == result.strip()
