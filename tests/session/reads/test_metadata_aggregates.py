"""What metadata may be tempted to answer wrongly gives the rows' own answer: floats, cut bounds, missing metrics,
deletes, evolved columns, defaults, history."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

# Each a table of the columns k, v, and what was done to it; `{}` is its name.
TABLES = {
    "floats": (
        "k INT, v DOUBLE",
        "INSERT INTO {} VALUES (1, DOUBLE('NaN')), (2, -0.0D), (3, 0.0D), (4, NULL)",
        "INSERT INTO {} VALUES (5, DOUBLE('NaN'))",
        "INSERT INTO {} VALUES (6, DOUBLE('-Infinity')), (7, 1.5D)",
    ),
    "float_partitions": (
        "k INT, v FLOAT) PARTITIONED BY (v",
        "INSERT INTO {} VALUES (1, FLOAT('NaN')), (2, -0.0F), (3, 0.0F), (4, NULL), (5, 1.1F)",
    ),
    "long_texts": (
        "k INT, v STRING",
        "INSERT INTO {} VALUES (1, 'a common beginning of strings: z'), (2, 'a common beginning of strings: b')",
        "INSERT INTO {} VALUES (3, ''), (4, NULL)",
    ),
    "nulls": ("k INT, v BIGINT", "INSERT INTO {} VALUES (1, NULL), (2, NULL)", "INSERT INTO {} VALUES (3, NULL)"),
    "without_metrics": (
        "k INT, v INT) TBLPROPERTIES ('write.metadata.metrics.default'='none'",
        "INSERT INTO {} VALUES (1, 5), (2, NULL)",
    ),
    "counted_only": (
        "k INT, v INT) TBLPROPERTIES ('write.metadata.metrics.default'='counts'",
        "INSERT INTO {} VALUES (1, 5), (2, NULL)",
    ),
    "deleted": (
        "k INT, v DATE",
        "INSERT INTO {} VALUES (1, DATE'2024-01-01'), (2, DATE'2024-01-05')",
        "DELETE FROM {} WHERE k = 2",
    ),
    "deleted_by_key": (
        "k INT, v INT, PRIMARY KEY (k)) TBLPROPERTIES ('write.upsert.mode'='equality'",
        "INSERT INTO {} VALUES (1, 9), (2, 3)",
        "MERGE INTO {} t USING (SELECT 1 k, 4 v) s ON t.k = s.k "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    ),
    "widened": (
        "k INT, v INT",
        "INSERT INTO {} VALUES (1, -5), (2, 7)",
        "ALTER TABLE {} ALTER COLUMN v TYPE BIGINT",
        "INSERT INTO {} VALUES (3, 5000000000)",
    ),
    "widened_decimals": (
        "k INT, v DECIMAL(4, 2)",
        "INSERT INTO {} VALUES (1, -5.25), (2, 99.99)",
        "ALTER TABLE {} ALTER COLUMN v TYPE DECIMAL(20, 2)",
        "INSERT INTO {} VALUES (3, 123456789012.50)",
    ),
    "added": (
        "k INT",
        "INSERT INTO {} VALUES (1), (2)",
        "ALTER TABLE {} ADD COLUMN v INT",
        "INSERT INTO {} VALUES (3, 8)",
    ),
    "added_with_default": (
        "k INT) TBLPROPERTIES ('format-version'='3'",
        "INSERT INTO {} VALUES (1), (2)",
        "ALTER TABLE {} ADD COLUMN v INT DEFAULT 40",
        "INSERT INTO {} VALUES (3, 8)",
    ),
    "added_again": (
        "k INT, v INT",
        "INSERT INTO {} VALUES (1, 1000)",
        "ALTER TABLE {} DROP COLUMN v",
        "ALTER TABLE {} ADD COLUMN v INT",
        "INSERT INTO {} VALUES (2, 8)",
    ),
    "partitioned_later": (
        "k INT, v STRING",
        "INSERT INTO {} VALUES (1, 'x'), (2, 'y')",
        "ALTER TABLE {} ADD PARTITION FIELD v",
        "INSERT INTO {} VALUES (3, 'x'), (4, NULL)",
    ),
    "booleans": ("k INT, v BOOLEAN", "INSERT INTO {} VALUES (1, true), (2, false), (3, NULL)"),
}
QUERIES = (
    "SELECT count(*), count(k), count(v), min(k), max(k) FROM {}",
    "SELECT min(v) FROM {}",
    "SELECT max(v) FROM {}",
    "SELECT v, count(*), max(k) FROM {} GROUP BY v",
    "SELECT count(*) FROM {} WHERE v IS NULL",
    "SELECT count(*), max(k) FROM {} WHERE v IS NOT NULL",
    "SELECT count(*) FROM {} WHERE k > 0",
    "SELECT k FROM {} WHERE v > (SELECT min(v) FROM {})",
    "SELECT k FROM {} WHERE NOT v <=> (SELECT max(v) FROM {})",
    "SELECT count(*) FROM (SELECT k FROM {} WHERE k >= 1 LIMIT 2)",
)
OF_FLOATS = (
    "SELECT k FROM {} WHERE v > 0.0D",
    "SELECT k FROM {} WHERE v = 0.0D",
    "SELECT k FROM {} WHERE NOT v > 1.0D",
    "SELECT count(*) FROM {} WHERE v = DOUBLE('NaN')",
    "SELECT k FROM {} WHERE v = 1.1F",
    "SELECT count(*) FROM {} WHERE v <= DOUBLE('Infinity')",
)


def answers(spark: SparkSession, query: str, table: str) -> list[str]:
    return sorted(repr(tuple(row)) for row in spark.sql(query.format(table, table)).collect())


@pytest.mark.parametrize("name", TABLES)
def test_aggregates_and_filters_are_those_of_the_rows(spark: SparkSession, name: str) -> None:
    columns, *statements = TABLES[name]
    table = f"lake.db.aggregated_{name}"
    spark.sql(f"CREATE TABLE {table} ({columns})")
    for statement in statements:
        spark.sql(statement.format(table))
    rows = spark.table(table)
    spark.createDataFrame(rows.toArrow(), rows.schema).createOrReplaceTempView("rows_of_table")
    for query in (*QUERIES, *(OF_FLOATS if "float" in name else ())):
        # -0.0 and 0.0 are one value, and which of them stands for it is not told
        found, expected = (
            [row.replace("-0.0", "0.0") for row in answers(spark, query, of)] for of in (table, "rows_of_table")
        )
        assert found == expected, query


def test_aggregates_of_history_are_those_of_their_time(spark: SparkSession) -> None:
    table = "lake.db.aggregated_history"
    spark.sql(f"CREATE TABLE {table} (k INT, v INT)")
    spark.sql(f"INSERT INTO {table} VALUES (1, 10)")
    first: Any = spark.sql(f"SELECT snapshot_id FROM {table}.snapshots").collect()[0][0]
    spark.sql(f"ALTER TABLE {table} CREATE BRANCH audit")
    spark.sql(f"INSERT INTO {table}.branch_audit VALUES (2, 20), (3, 30)")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN v TYPE BIGINT")
    spark.sql(f"INSERT INTO {table} VALUES (9, 5000000000)")
    query = "SELECT count(*), min(v), max(v), max(k) FROM {}"
    assert answers(spark, query, table) == ["(2, 10, 5000000000, 9)"]
    assert answers(spark, query, f"{table} VERSION AS OF {first}") == ["(1, 10, 10, 1)"]
    assert answers(spark, query, f"{table}.branch_audit") == ["(3, 10, 30, 3)"]
    assert answers(spark, "SELECT count(*), count(DISTINCT _file), max(_pos) FROM {}", table) == ["(2, 2, 0)"]
