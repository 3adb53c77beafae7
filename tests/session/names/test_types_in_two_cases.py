"""Columns whose names differ in case alone are read as their own types where case has no meaning."""

from __future__ import annotations

import itertools

import pytest
from pyspark.sql import SparkSession

from judges.canonical import canonical_rows
from sessions import planned

VALUES = {
    "INT": "1",
    "BIGINT": "2",
    "FLOAT": "CAST(1.5 AS FLOAT)",
    "DOUBLE": "CAST(2.5 AS DOUBLE)",
    "STRING": "'text'",
    "BINARY": "CAST('bytes' AS BINARY)",
    "DECIMAL(9,4)": "CAST(1.25 AS DECIMAL(9,4))",
    "DECIMAL(20,2)": "CAST(2.25 AS DECIMAL(20,2))",
    "DATE": "DATE'2024-01-02'",
    "TIMESTAMP": "TIMESTAMP'2024-01-02 03:04:05Z'",
    "ARRAY<INT>": "array(1, 2)",
    "STRUCT<a: INT, A: STRING>": "named_struct('a', 1, 'A', 'x')",
}
PAIRS = sorted(itertools.permutations(VALUES, 2))


@pytest.mark.parametrize("force", ["", "tasks"])
def test_each_is_read_as_its_own_type(spark: SparkSession, table_name: str, force: str) -> None:
    """All pairs of types in one table: `x1` and `X1` of the first two, `x2` and `X2` of the next."""
    pairs = [pair for place, pair in enumerate(PAIRS) if place % 2 == (force == "")]
    columns = [
        (f"{letter}{number}", type)
        for number, pair in enumerate(pairs)
        for letter, type in zip("xX", pair, strict=True)
    ]
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        listed = ", ".join(f"{name} {type}" for name, type in columns)
        spark.sql(f"CREATE TABLE {table_name} (id INT, {listed})")
        with planned(spark, force=force):
            spark.sql(f"INSERT INTO {table_name} SELECT 1, {', '.join(VALUES[type] for _, type in columns)}")
        wanted = canonical_rows(spark.table(table_name))
        spark.conf.set("spark.sql.caseSensitive", "false")
        assert canonical_rows(spark.table(table_name)) == wanted
        assert canonical_rows(spark.sql(f"SELECT * FROM {table_name} WHERE id = 1")) == wanted
        with planned(spark, force=force):
            spark.sql(f"INSERT INTO {table_name} VALUES (1, {', '.join(VALUES[type] for _, type in columns)})")
        wanted = [*wanted, *wanted]
        for vectorized in ("false", "true"):
            spark.conf.set("spark.sql.parquet.enableVectorizedReader", vectorized)
            assert canonical_rows(spark.table(table_name)) == wanted
    finally:
        spark.conf.set("spark.sql.caseSensitive", "false")
        spark.conf.unset("spark.sql.parquet.enableVectorizedReader")
