"""Names that are two where case has a meaning, and one where it has none: nothing is written by such a name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

BY_NAME = (
    "INSERT INTO {t} (v) VALUES (1)",
    "INSERT INTO {t} (V) SELECT 1",
    "INSERT INTO {t} BY NAME SELECT 1 AS v",
    "INSERT OVERWRITE {t} (k, v) SELECT 1, 2",
    "INSERT INTO {t} BY NAME SELECT 1 AS k, named_struct('a', 1) AS s",
    "INSERT INTO {t} BY NAME SELECT 1 AS k, array(named_struct('A', 1)) AS l",
    "UPDATE {t} SET v = 2",
    "UPDATE {t} SET s = named_struct('a', 1)",
    "MERGE INTO {t} t USING (SELECT 2 AS k, 3 AS v) s ON t.k = s.k WHEN NOT MATCHED THEN INSERT (k, v) VALUES (k, v)",
)
ROW = "SELECT 1, 2, 3, named_struct('a', 4, 'A', 5), array(named_struct('a', 6, 'A', 7))"


@pytest.fixture
def table(spark: SparkSession, table_name: str) -> Iterator[str]:
    spark.conf.set("spark.sql.caseSensitive", "true")
    columns = "k INT, V INT, v INT, s STRUCT<a: INT, A: INT>, l ARRAY<STRUCT<a: INT, A: INT>>"
    spark.sql(f"CREATE TABLE {table_name} ({columns})")
    spark.sql(f"INSERT INTO {table_name} {ROW}")
    spark.conf.set("spark.sql.caseSensitive", "false")
    yield table_name
    spark.conf.set("spark.sql.caseSensitive", "false")


def test_writes_by_such_a_name_are_refused(spark: SparkSession, table: str) -> None:
    before = spark.table(table).collect()
    for statement in BY_NAME:
        with pytest.raises(AnalysisException) as caught:
            spark.sql(statement.format(t=table))
        assert caught.value.getCondition() == "AMBIGUOUS_REFERENCE", statement
    with pytest.raises(AnalysisException, match="AMBIGUOUS_REFERENCE"):
        spark.sql("SELECT 1 AS v").writeTo(table).append()
    assert spark.table(table).collect() == before


def test_others_are_written(spark: SparkSession, table: str) -> None:
    spark.sql(f"INSERT INTO {table} {ROW}")
    spark.sql(f"INSERT INTO {table} (k) VALUES (8)")
    spark.conf.set("spark.sql.caseSensitive", "true")
    spark.sql(f"INSERT INTO {table} (k, v) VALUES (9, 10)")
    rows = sorted(tuple(row) for row in spark.sql(f"SELECT k, V, v FROM {table}").collect() if row[0] > 1)
    assert rows == [(8, None, None), (9, None, 10)]
    assert spark.table(table).where("k = 1").count() == 2


@pytest.mark.parametrize("column", ["INT", "STRUCT<db: INT>"])
def test_a_column_with_the_catalogs_name(spark: SparkSession, table_name: str, column: str) -> None:
    catalog = table_name.split(".")[0]
    spark.sql(f"CREATE TABLE {table_name} (id INT, {catalog} {column}, v INT, PRIMARY KEY (id))")
    spark.sql(f"INSERT INTO {table_name} (id, v) VALUES (1, 1), (2, 2), (3, 3)")
    spark.sql(f"UPDATE {table_name} SET v = {table_name}.v + 10 WHERE {table_name}.id = 1")
    spark.sql(f"DELETE FROM {table_name} WHERE id % 3 = 2")
    spark.sql(
        f"MERGE INTO {table_name} USING (SELECT 3 AS id) AS s ON {table_name}.id = s.id "
        f"WHEN MATCHED THEN UPDATE SET v = {table_name}.v * 2"
    )
    assert sorted(map(tuple, spark.sql(f"SELECT id, v FROM {table_name}").collect())) == [(1, 11), (3, 6)]


@pytest.mark.parametrize("column", ["{catalog} INT", "{catalog} STRUCT<db: INT>", "{catalog} INT, db INT"])
def test_a_column_with_the_catalogs_name_beside_a_table_as_the_source(
    spark: SparkSession, table_name: str, column: str
) -> None:
    source = f"{table_name}_source"
    for name in (table_name, source):
        columns = column.format(catalog=name.split(".")[0])
        spark.sql(f"CREATE TABLE {name} (id INT, {columns}, v INT, PRIMARY KEY (id))")
        spark.sql(f"INSERT INTO {name} (id, v) VALUES (1, 1), (2, 2)")
    short, source_short = table_name.split(".")[-1], source.split(".")[-1]
    spark.sql(
        f"MERGE INTO {table_name} USING {source} ON {short}.id = {source_short}.id + 1 "
        f"WHEN MATCHED THEN UPDATE SET v = {source_short}.v + 10 WHEN NOT MATCHED THEN INSERT *"
    )
    assert sorted(map(tuple, spark.sql(f"SELECT id, v FROM {table_name}").collect())) == [(1, 1), (2, 2), (2, 11)]


def test_a_parameter_without_a_value_is_told_by_sparks_condition(spark: SparkSession) -> None:
    with pytest.raises(AnalysisException) as caught:
        spark.sql("SELECT :p", args={"q": 1})
    assert caught.value.getCondition() == "UNBOUND_SQL_PARAMETER"
