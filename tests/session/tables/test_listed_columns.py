"""`spark.catalog.listColumns` of tables whose partitioning Spark has a word for, and of others."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

COLUMNS = "id BIGINT, `a.b` STRING, day DATE, s STRUCT<x: INT>"


@pytest.mark.parametrize(
    ("partitioning", "partitioned_by", "bucketed_by"),
    [
        ("", [], []),
        ("PARTITIONED BY (`a.b`, day)", ["a.b", "day"], []),
        ("PARTITIONED BY (months(day))", [], []),
        ("PARTITIONED BY (`a.b`, truncate(2, id), bucket(4, day))", ["a.b"], ["day"]),
        ("PARTITIONED BY (bucket(4, id), bucket(8, day))", [], []),
        ("PARTITIONED BY (s.x, bucket(2, id))", [], ["id"]),
    ],
)
def test_columns_are_listed_whatever_the_partitioning(
    spark: SparkSession, table_name: str, partitioning: str, partitioned_by: list[str], bucketed_by: list[str]
) -> None:
    spark.sql(f"CREATE TABLE {table_name} ({COLUMNS}) {partitioning}")
    columns = spark.catalog.listColumns(table_name)
    assert [column.name for column in columns] == ["id", "a.b", "day", "s"]
    assert [column.name for column in columns if column.isPartition] == partitioned_by
    assert [column.name for column in columns if column.isBucket] == bucketed_by


def test_what_lists_columns_leaves_the_table_as_it_is(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} ({COLUMNS}) PARTITIONED BY (months(day))")
    spark.catalog.listColumns(table_name)
    told = [(row.col_name, row.data_type) for row in spark.sql(f"DESCRIBE {table_name}").collect()]
    assert ("Part 0", "months(day)") in told
    assert spark.catalog.getTable(table_name).name == table_name.rpartition(".")[2]
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a', DATE'2026-01-31', NULL)")
    assert spark.table(table_name).count() == 1
