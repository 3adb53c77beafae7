"""What Spark leaves to the scan: filters, aggregates, limits, join filters, and joins of tables bucketed alike."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

SALES = """(2, DATE'2024-01-01', 'b', 1.50, true), (7, DATE'2024-01-01', 'a', NULL, false),
  (5, DATE'2024-01-02', 'c', 9.25, true), (9, NULL, 'd', 0.25, NULL)"""


@pytest.fixture(scope="module")
def sales(spark: SparkSession) -> str:
    """A table of one file a day."""
    spark.sql(
        "CREATE TABLE lake.db.pushed_sales (id INT, day DATE, who STRING, price DECIMAL(9, 2), paid BOOLEAN) "
        "PARTITIONED BY (day)"
    )
    spark.sql(f"INSERT INTO lake.db.pushed_sales VALUES {SALES}")
    return "lake.db.pushed_sales"


def rows(spark: SparkSession, query: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.sql(query).collect()), key=repr)


def plan(spark: SparkSession, query: str) -> str:
    text: str = spark.sql(query)._jdf.queryExecution().executedPlan().toString()
    return text


@pytest.mark.parametrize(
    ("query", "reads"),
    [
        ("SELECT count(*), min(id), max(id), min(day), max(price), count(price), max(paid) FROM {}", False),
        ("SELECT count(*) FROM {} WHERE day = DATE'2024-01-01'", False),
        ("SELECT count(*), max(id) FROM {} WHERE day IS NULL OR day > DATE'2024-01-01'", False),
        ("SELECT day, count(*), max(id) FROM {} GROUP BY day", False),
        ("SELECT count(*) FROM {} WHERE day = DATE'2030-01-01'", False),
        ("SELECT max(price) FROM {} WHERE day = DATE'2030-01-01'", False),
        ("SELECT min(who) FROM {}", True),
        ("SELECT count(*) FROM {} WHERE id > 5", True),
        ("SELECT count(DISTINCT id) FROM {}", True),
        ("SELECT sum(id) FROM {}", True),
        ("SELECT min(paid) FROM {} WHERE who = 'a'", True),
        ("SELECT who, count(*) FROM {} GROUP BY who", True),
    ],
)
def test_aggregates_come_from_metadata_where_it_tells(spark: SparkSession, sales: str, query: str, reads: bool) -> None:
    values = f"(SELECT * FROM VALUES {SALES} AS s (id, day, who, price, paid))"
    assert rows(spark, query.format(sales)) == rows(spark, query.format(values))
    assert ("BatchScan" in plan(spark, query.format(sales))) is reads


def test_aggregates_of_hidden_columns_read_them(spark: SparkSession, sales: str) -> None:
    assert rows(spark, f"SELECT count(DISTINCT _file), max(_pos), count(*) FROM {sales}") == [(3, 1, 4)]
    assert len(rows(spark, f"SELECT _file, count(*) FROM {sales} GROUP BY _file")) == 3


def test_aggregates_over_deleted_rows_read_them(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1), (2), (3)")
    spark.sql(f"DELETE FROM {table_name} WHERE id = 3")
    assert rows(spark, f"SELECT count(*), max(id) FROM {table_name}") == [(2, 2)]


def test_filters_that_partitions_answer_are_not_tested_again(spark: SparkSession, sales: str) -> None:
    by_partition = f"SELECT id FROM {sales} WHERE day = DATE'2024-01-01'"
    assert "Filter " not in plan(spark, by_partition)
    assert rows(spark, by_partition) == [(2,), (7,)]
    mixed = f"SELECT id FROM {sales} WHERE day = DATE'2024-01-01' AND id > 5"
    assert "Filter " in plan(spark, mixed)
    assert rows(spark, mixed) == [(7,)]


def test_filters_after_the_partitioning_changed(spark: SparkSession, table_name: str) -> None:
    """Files of the old spec hold several days each: their rows are tested."""
    spark.sql(f"CREATE TABLE {table_name} (id INT, day DATE)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, DATE'2024-01-01'), (2, DATE'2024-01-02')")
    spark.sql(f"ALTER TABLE {table_name} ADD PARTITION FIELD day")
    spark.sql(f"INSERT INTO {table_name} VALUES (3, DATE'2024-01-01')")
    assert rows(spark, f"SELECT id FROM {table_name} WHERE day = DATE'2024-01-01'") == [(1,), (3,)]
    assert rows(spark, f"SELECT count(*) FROM {table_name} WHERE day = DATE'2024-01-01'") == [(2,)]
    assert rows(spark, f"SELECT day, count(*) FROM {table_name} GROUP BY day") == rows(
        spark, "SELECT day, n FROM VALUES (DATE'2024-01-01', 2L), (DATE'2024-01-02', 1L) AS v (day, n)"
    )


def test_a_limit_reads_only_as_many_files_as_it_takes(spark: SparkSession, sales: str) -> None:
    frame = spark.sql(f"SELECT id FROM {sales} WHERE day >= DATE'2024-01-01' LIMIT 1")
    assert len(frame.collect()) == 1
    assert len(rows(spark, f"SELECT id FROM {sales} WHERE id > 2 LIMIT 3")) == 3


@pytest.mark.parametrize(
    "condition",
    [
        "id = 100 OR length(who) = 1",
        "length(who) = 1 OR id = 100",
        "id = 100 OR (id > 0 AND length(who) = 1)",
        "NOT (id = 2 AND length(who) = 1)",
        "NOT (id = 100 OR length(who) = 2)",
        "id = 100 OR upper(who) IN ('A', 'B')",
        "id <=> 100 OR id + 1 = 3",
        "(id = 100 OR paid) AND (who = 'z' OR length(who) = 1)",
        "coalesce(id = 100, false) OR who LIKE '%a%'",
        "id IN (100, 101) OR CAST(id AS STRING) = '7'",
        "price IS NULL OR abs(price) > 1",
        "id = 100 OR id = (SELECT max(id) FROM {})",
    ],
)
def test_conditions_that_are_pushed_in_part_select_the_same_rows(
    spark: SparkSession, sales: str, condition: str
) -> None:
    values = f"(SELECT * FROM VALUES {SALES} AS s (id, day, who, price, paid))"
    expected = rows(spark, f"SELECT * FROM {values} WHERE {condition}".replace("{}", values))
    assert expected
    assert rows(spark, f"SELECT * FROM {sales} WHERE {condition}".replace("{}", sales)) == expected


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("id", [None, 1]),
        ("id NULLS LAST, v DESC", [1, 2]),
        ("id DESC NULLS LAST", [31, 30]),
        ("id DESC NULLS FIRST", [None, 31]),
        ("v, id", [1, 10]),
    ],
)
def test_the_first_rows_of_an_order_are_those_of_all(
    spark: SparkSession, table_name: str, order: str, expected: list[int | None]
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING)")
    for first in (1, 10, 20, 30):
        spark.sql(f"INSERT INTO {table_name} VALUES ({first}, 'v{first}'), ({first + 1}, 'v{first + 1}')")
    spark.sql(f"INSERT INTO {table_name} VALUES (NULL, 'w')")
    query = f"SELECT id FROM {table_name} WHERE id IS NOT NULL OR v = 'w' ORDER BY {order} LIMIT 2"
    needed = f"SELECT id FROM {table_name} ORDER BY {order} LIMIT 2"
    whole = [row[0] for row in spark.sql(query).collect()]
    middle = spark.sql(f"SELECT _file FROM {table_name} WHERE id = 20").first()
    assert middle is not None
    Path(middle[0].removeprefix("file:")).unlink()
    assert [row[0] for row in spark.sql(needed).collect()] == whole == expected


def test_joins_of_tables_bucketed_alike_do_not_shuffle(spark: SparkSession) -> None:
    for name in ("left", "right"):
        spark.sql(f"CREATE TABLE lake.db.bucketed_{name} (id BIGINT, v STRING) PARTITIONED BY (bucket(4, id))")
        spark.sql(f"INSERT INTO lake.db.bucketed_{name} SELECT id, '{name}' || id FROM range(20)")
    spark.sql("INSERT INTO lake.db.bucketed_left VALUES (NULL, 'none'), (100, 'only left')")
    query = "SELECT l.id, l.v, r.v FROM lake.db.bucketed_left l JOIN lake.db.bucketed_right r ON l.id = r.id"
    expected = sorted(((n, f"left{n}", f"right{n}") for n in range(20)), key=repr)
    settings = {
        "spark.sql.sources.v2.bucketing.enabled": "true",
        "spark.sql.sources.v2.bucketing.pushPartValues.enabled": "true",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.adaptive.enabled": "false",
    }
    before = {name: spark.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        assert "Exchange" not in plan(spark, query)
        assert rows(spark, query) == expected
        assert rows(spark, "SELECT count(v) FROM lake.db.bucketed_left GROUP BY id HAVING id IS NULL") == [(1,)]
    finally:
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)
    assert rows(spark, query) == expected


def test_a_join_leaves_out_files_of_other_partitions(spark: SparkSession, sales: str, warehouse: Path) -> None:
    spark.sql("CREATE TABLE lake.db.days (day DATE, name STRING)")
    spark.sql("INSERT INTO lake.db.days VALUES (DATE'2024-01-02', 'second'), (DATE'2024-01-01', 'first')")
    query = f"SELECT s.id FROM {sales} s JOIN lake.db.days d ON s.day = d.day WHERE d.name = 'second'"
    frame = spark.sql(query)
    assert frame.collect() == [(5,)]
    assert "dynamicpruning" in frame._jdf.queryExecution().executedPlan().toString().lower()


def test_the_optimizer_knows_columns_figures(spark: SparkSession, sales: str) -> None:
    before = spark.conf.get("spark.sql.cbo.enabled")
    spark.conf.set("spark.sql.cbo.enabled", "true")
    try:
        cost = spark.sql(f"EXPLAIN COST SELECT id, price FROM {sales}").collect()[0][0]
        assert "rowCount=4" in cost
        assert rows(spark, f"SELECT id FROM {sales} WHERE price > 1") == [(2,), (5,)]
    finally:
        spark.conf.set("spark.sql.cbo.enabled", before)


_ONE_OF_EACH = {
    "BOOLEAN": "true",
    "INT": "7",
    "DECIMAL(30, 4)": "7.5",
    "DOUBLE": "7.5D",
    "STRING": "'seven'",
    "BINARY": "X'07'",
    "DATE": "DATE'2024-01-01'",
    "TIMESTAMP": "TIMESTAMP'2024-01-01 00:00:00'",
    "TIMESTAMP_NTZ": "TIMESTAMP_NTZ'2024-01-01 00:00:00'",
}


def test_the_optimizer_estimates_columns_of_each_type(spark: SparkSession, table_name: str) -> None:
    literals = dict(enumerate(_ONE_OF_EACH.values()))
    columns = ", ".join(f"c{number} {type}" for number, type in enumerate(_ONE_OF_EACH))
    spark.sql(f"CREATE TABLE {table_name} (id INT, {columns})")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, {', '.join(literals.values())})")
    spark.sql(f"INSERT INTO {table_name} (id) VALUES (2)")
    before = spark.conf.get("spark.sql.cbo.enabled")
    spark.conf.set("spark.sql.cbo.enabled", "true")
    try:
        for number, literal in literals.items():
            for condition in ("= {}", "<=> {}", ">= {}", "IN ({}, NULL)"):
                where = f"c{number} {condition.format(literal)} AND id < 5"
                assert rows(spark, f"SELECT id FROM {table_name} WHERE {where}") == [(1,)], where
            on = f"a.c{number} = b.c{number}"
            assert rows(spark, f"SELECT a.id FROM {table_name} a JOIN {table_name} b ON {on}") == [(1,)], on
    finally:
        spark.conf.set("spark.sql.cbo.enabled", before)


_BYTES = (
    "''",
    "'00'",
    "'41'",
    "'80'",
    "'C3A9'",
    "'C3'",
    "'EDA080'",
    "'EFBFBD'",
    "'EFBFBE'",
    "'F09F9880'",
    "'FF'",
    "'FF41'",
)


@pytest.mark.parametrize("type", ["STRING", "BINARY"])
def test_texts_and_bytes_of_any_kind_select_the_same_rows(spark: SparkSession, table_name: str, type: str) -> None:
    """Also texts that are no UTF-8, which a row of no file that is written here has, and nulls among bytes."""
    spark.sql(f"CREATE TABLE {table_name} (id {type} NOT NULL, n INT, PRIMARY KEY (id))")
    held = [one for one in _BYTES if type == "BINARY" or one in ("''", "'41'", "'C3A9'", "'EFBFBD'", "'F09F9880'")]
    for number, one in enumerate(held):
        spark.sql(f"INSERT INTO {table_name} VALUES (CAST(X{one} AS {type}), {number})")
    spark.table(table_name).localCheckpoint().createOrReplaceTempView("held_values")
    sought = [f"CAST(X{one} AS {type})" for one in _BYTES]
    conditions = [f"id {op} {one}" for one in sought for op in ("=", "<>", "<", ">=", "<=>")]
    conditions += [f"id IN ({one}, {other})" for one, other in pairwise(sought)]
    conditions += [f"id IN ({one}, NULL, X'41')" for one in sought] + [f"startswith(id, {one})" for one in sought]
    conditions += ["id = NULL", "id <=> NULL", f"id NOT IN ({', '.join(sought)})"]
    for condition in conditions:
        expected = rows(spark, f"SELECT * FROM held_values WHERE {condition}")
        assert rows(spark, f"SELECT * FROM {table_name} WHERE {condition}") == expected, condition
    spark.sql(f"UPDATE {table_name} SET n = -1 WHERE id IN (CAST(X'FF' AS {type}), CAST(X'41' AS {type}), NULL)")
    spark.sql(f"DELETE FROM {table_name} WHERE id < CAST(X'EE' AS {type}) AND n >= 0")
    left = rows(
        spark,
        "SELECT IF(hex(id) IN ('FF', '41'), -1, n) FROM held_values WHERE hex(id) IN ('FF', '41') OR hex(id) >= 'EE'",
    )
    assert rows(spark, f"SELECT n FROM {table_name}") == left
