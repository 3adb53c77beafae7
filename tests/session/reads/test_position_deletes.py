"""Rows deleted by position are left out of batches of any columns, and of rows where there are no batches."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from judges.canonical import canonical_rows

ROWS = """
SELECT CAST(id AS INT) AS id, IF(id % 5 = 0, NULL, concat('name ', id)) AS name, CAST(id AS DECIMAL(20, 2)) AS amount,
  named_struct('x', id, 'inner', named_struct('y', CAST(id AS STRING))) AS point,
  IF(id % 3 = 0, NULL, array(id, NULL, id + 1)) AS items, map(CAST(id AS STRING), id % 2 = 0) AS flags,
  DATE'2024-01-01' + CAST(id % 400 AS INT) AS day, IF(id % 4 = 0, NULL, id % 3 = 0) AS flag,
  IF(id % 6 = 0, NULL, id * 1234567890123) AS wide, CAST(id / 7 AS FLOAT) AS ratio,
  IF(id % 9 = 0, NULL, sqrt(id)) AS root, CAST(id % 100 / 4 AS DECIMAL(5, 2)) AS price,
  CAST(id AS DECIMAL(12, 3)) AS weight, unhex(sha2(CAST(id AS STRING), 256)) AS hash,
  timestamp_millis(id * 86400123) AS at,
  IF(id % 8 = 0, NULL, named_struct('kind', id % 5, 'note', sha2(CAST(id AS STRING), 256))) AS origin
FROM range(10000)
"""
COLUMNS = """
id INT, name STRING, amount DECIMAL(20, 2), point STRUCT<x: BIGINT, inner: STRUCT<y: STRING>>, items ARRAY<BIGINT>,
flags MAP<STRING, BOOLEAN>, day DATE, flag BOOLEAN, wide BIGINT, ratio FLOAT, root DOUBLE, price DECIMAL(5, 2),
weight DECIMAL(12, 3), hash BINARY, at TIMESTAMP, origin STRUCT<kind: BIGINT, note: STRING>
"""
# the whole of a batch of 4096 rows, single rows, a run at the end
DELETED = "id BETWEEN 4096 AND 8191 OR id % 7 = 0 OR id > 9990"


@pytest.mark.turns(1)
@pytest.mark.parametrize("version", [2, 3])
def test_batches(spark: SparkSession, table_name: str, version: int) -> None:
    spark.sql(f"CREATE TABLE {table_name} ({COLUMNS}) TBLPROPERTIES ('format-version'='{version}')")
    spark.sql(f"INSERT INTO {table_name} {ROWS}")
    spark.sql(f"INSERT INTO {table_name} {ROWS}")
    spark.sql(f"DELETE FROM {table_name} WHERE ({DELETED})")
    spark.sql(f"INSERT INTO {table_name} {ROWS}")
    live = f"(SELECT * FROM ({ROWS}) WHERE NOT ({DELETED}))"
    every = f"(SELECT * FROM ({ROWS}) UNION ALL SELECT * FROM {live} UNION ALL SELECT * FROM {live})"
    for query in (
        "SELECT * FROM {rows}",
        "SELECT name, point.inner.y, flags FROM {rows} WHERE id > 8000 AND items IS NULL",
        "SELECT count(*), count(name), sum(amount), min(day), max(point.x) FROM {rows}",
        "SELECT count(flag), sum(wide % 1000), sum(weight), max(price), max(at), count(origin.kind) FROM {rows}",
        "SELECT id, items FROM {rows} ORDER BY id DESC LIMIT 30",
    ):
        assert canonical_rows(spark.sql(query.format(rows=table_name))) == canonical_rows(
            spark.sql(query.format(rows=every))
        ), query
    assert spark.sql(f"SELECT id FROM {table_name} LIMIT 9000").count() == 9000
    places = canonical_rows(spark.sql(f"SELECT id - _pos, count(*) FROM {table_name} GROUP BY 1"))
    assert places == [[0, spark.sql(f"SELECT * FROM {every}").count()]]


def test_rows(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, nothing VOID) TBLPROPERTIES ('format-version'='3')")
    spark.sql(f"INSERT INTO {table_name} SELECT id, NULL FROM range(10000)")
    spark.sql(f"DELETE FROM {table_name} WHERE {DELETED}")
    live = f"SELECT CAST(id AS INT), NULL FROM range(10000) WHERE NOT ({DELETED})"
    assert canonical_rows(spark.table(table_name)) == canonical_rows(spark.sql(live))
    assert spark.sql(f"SELECT * FROM {table_name} WHERE id <> _pos").count() == 0


def test_parts_of_files(spark: SparkSession, table_name: str) -> None:
    """Row groups of one file are read by several tasks, or left out by a filter: rows keep their positions."""
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, name STRING) TBLPROPERTIES ('format-version'='3',"
        " 'write.parquet.row-group-size-bytes'='8000', 'write.parquet.compression-codec'='uncompressed')"
    )
    rows = "SELECT /*+ COALESCE(1) */ CAST(id AS INT) AS id, concat('name ', id) AS name FROM range(10000)"
    spark.sql(f"INSERT INTO {table_name} {rows}")
    spark.sql(f"DELETE FROM {table_name} WHERE {DELETED}")
    live = f"(SELECT * FROM ({rows}) WHERE NOT ({DELETED}))"
    for size in ("128m", "20000"):
        spark.conf.set("spark.sql.files.maxPartitionBytes", size)
        spark.conf.set("spark.sql.files.openCostInBytes", "1")
        try:
            for query in ("SELECT * FROM {rows}", "SELECT name FROM {rows} WHERE id > 9000"):
                found = spark.sql(query.format(rows=table_name))
                assert canonical_rows(found) == canonical_rows(spark.sql(query.format(rows=live))), (size, query)
            for condition in ("id <> _pos", "id > 9000 AND id <> _pos"):
                assert spark.sql(f"SELECT * FROM {table_name} WHERE {condition}").count() == 0, (size, condition)
            parts = spark.table(table_name).rdd.getNumPartitions()
        finally:
            spark.conf.unset("spark.sql.files.maxPartitionBytes")
            spark.conf.unset("spark.sql.files.openCostInBytes")
    assert parts > 2


@pytest.mark.parametrize("dead", ["pmod(xxhash64(id), 3) < 2", "id % 997 = 5", "id < 70000"])
def test_many_positions(spark: SparkSession, table_name: str, dead: str) -> None:
    """Positions of several containers of a bitmap, of each kind: bits, lists and runs."""
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT) TBLPROPERTIES ('format-version'='3')")
    spark.sql(f"INSERT INTO {table_name} SELECT /*+ COALESCE(1) */ id FROM range(140000)")
    spark.sql(f"DELETE FROM {table_name} WHERE {dead}")
    found = spark.table(table_name).toArrow().column("id").to_pylist()
    live = spark.sql(f"SELECT id FROM range(140000) WHERE NOT ({dead})").toArrow().column("id").to_pylist()
    assert sorted(found) == live
