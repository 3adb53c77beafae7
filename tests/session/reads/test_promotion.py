"""Rows of files that are older than the widening of a column's type, read in batches and row by row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.sql import SparkSession

from judges.canonical import canonical_rows

_WIDENED = {"id": "BIGINT", "f": "DOUBLE", "s.a": "BIGINT", "s.b": "DOUBLE", "l.element": "BIGINT", "n": "BIGINT"}


@pytest.mark.parametrize("batches", ["true", "false"])
def test_values_are_those_that_were_stored(spark: SparkSession, table_name: str, batches: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, f FLOAT, s STRUCT<a: INT, b: FLOAT>, l ARRAY<INT>, n INT)")
    old = (
        "SELECT CAST(id AS INT) AS id, CAST(id / 8 AS FLOAT) AS f, named_struct('a', CAST(-id AS INT), 'b', CAST(id AS"
        " FLOAT)) AS s, array(CAST(id AS INT), null) AS l, CAST(null AS INT) AS n FROM range(100) UNION ALL VALUES"
        " (2147483647, CAST('NaN' AS FLOAT), named_struct('a', -2147483648, 'b', CAST(null AS FLOAT)), null, 7),"
        " (null, null, null, null, null)"
    )
    new = "SELECT 3000000000L, 1e300D, named_struct('a', 4000000000L, 'b', 1e200D), array(5000000000L), 7000000000L"
    spark.sql(f"INSERT INTO {table_name} {old}")
    for column, wider in _WIDENED.items():
        spark.sql(f"ALTER TABLE {table_name} ALTER COLUMN {column} TYPE {wider}")
    spark.sql(f"INSERT INTO {table_name} {new}")
    expected = canonical_rows(spark.sql(f"{old} UNION ALL {new}"))
    with _setting(spark, "spark.sql.parquet.enableVectorizedReader", batches):
        assert canonical_rows(spark.table(table_name)) == expected
        of_one = spark.sql(f"SELECT id, n FROM {table_name} WHERE id > 2147483646 OR n = 7")
        assert canonical_rows(of_one) == [[2147483647, 7], [3000000000, 7000000000]]


@contextmanager
def _setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    spark.conf.set(name, value)
    try:
        yield
    finally:
        spark.conf.unset(name)
