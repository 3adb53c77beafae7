"""DataFrame writes that bring columns along, and writers that meet."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from judges.canonical import canonical_rows
from judges.iceberg import IcebergJudge
from sqlext.spark.shim.java_objects import java_rows


@pytest.fixture
def table(spark: SparkSession, table_name: str) -> str:
    spark.sql(f"CREATE TABLE {table_name} (id INT, name STRING)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a')")
    return table_name


def test_the_option_adds_columns_and_widens_types(spark: SparkSession, iceberg: IcebergJudge, table: str) -> None:
    rows = spark.sql("SELECT 3000000000L AS ID, struct(1 AS x) AS extra")
    rows.writeTo(table).option("mergeSchema", "true").append()
    spark.sql("SELECT 3L AS id, struct(2 AS x, 'y' AS y) AS extra").write.mode("append").option(
        "merge-schema", "true"
    ).saveAsTable(table)
    assert spark.table(table).dtypes == [("id", "bigint"), ("name", "string"), ("extra", "struct<x:int,y:string>")]
    assert canonical_rows(spark.table(table)) == iceberg.sql(f"SELECT * FROM {table}")
    assert spark.sql(f"SELECT count(*) FROM {table}.snapshots").first()[0] == 3  # type: ignore[index]


def test_overwrites_take_columns_on_too(spark: SparkSession, table: str) -> None:
    spark.sql("SELECT 2 AS id, 'b' AS name, 1 AS n").writeTo(table).option("mergeSchema", "true").overwrite(
        spark.sql("SELECT 1 AS id").id == 1
    )
    assert canonical_rows(spark.table(table)) == [[2, "b", 1]]


def test_without_the_option_columns_must_fit(spark: SparkSession, table: str) -> None:
    rows = spark.sql("SELECT 2 AS id, 'b' AS name, 1 AS n")
    with pytest.raises(AnalysisException, match=r"TOO_MANY_DATA_COLUMNS|EXTRA_COLUMNS"):
        rows.writeTo(table).append()
    spark.conf.set("spark.sql.iceberg.merge-schema", "true")
    try:
        spark.sql(f"INSERT INTO {table} SELECT 2, 'b', 1 AS n")
    finally:
        spark.conf.unset("spark.sql.iceberg.merge-schema")
    assert canonical_rows(spark.table(table)) == [[1, "a", None], [2, "b", 1]]


def test_the_rows_of_a_refused_write_leave_no_column(spark: SparkSession, table: str) -> None:
    spark.sql(f"ALTER TABLE {table} ADD CONSTRAINT small CHECK (id < 10)")
    with pytest.raises(AnalysisException, match="CHECK_CONSTRAINT_VIOLATION"):
        spark.sql(f"INSERT WITH SCHEMA EVOLUTION INTO {table} SELECT 20, 'b', 1 AS n")
    assert spark.table(table).columns == ["id", "name"]


def test_a_write_of_scala_may_ask_for_it(spark: SparkSession, table: str) -> None:
    if spark.version < "4.2":
        pytest.skip("Spark has no withSchemaEvolution before 4.2")
    java_rows(spark.sql("SELECT 3000000000L AS id, 'b' AS name, 1 AS n")).writeTo(table).withSchemaEvolution().append()
    rows = "SELECT 1 AS id, 'c' AS name, 2 AS n, 3 AS m"
    spark.sql(f"INSERT WITH SCHEMA EVOLUTION INTO {table} REPLACE WHERE id = 1 {rows}")
    assert spark.table(table).dtypes == [("id", "bigint"), ("name", "string"), ("n", "int"), ("m", "int")]
    assert canonical_rows(spark.table(table)) == [[1, "c", 2, 3], [3000000000, "b", 1, None]]
