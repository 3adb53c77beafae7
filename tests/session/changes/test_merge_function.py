"""`sqlext.merge`: the statement MERGE of a DataFrame, with its counts, its errors and no view left behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import sqlext
from sqlext.errors import SqlextError, UnsupportedError


@pytest.fixture
def table(spark: SparkSession, table_name: str) -> Iterator[str]:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id))")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    before = _views(spark)
    yield table_name
    assert _views(spark) == before


def _views(spark: SparkSession) -> list[str]:
    """By name alone: a view of another test may name a table that is gone."""
    return sorted(row.viewName for row in spark.sql("SHOW VIEWS IN spark_catalog.default").collect())


def _stored(spark: SparkSession, table: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in spark.table(table).orderBy("id").collect()]


def test_rows_are_upserted_by_default(spark: SparkSession, table: str) -> None:
    rows = spark.createDataFrame([(2, "B"), (4, "D")], "id INT, v STRING")
    assert sqlext.merge(rows, table, on=["ID"]) == (2, 1, 1, 0)
    assert _stored(spark, table) == [(1, "a"), (2, "B"), (3, "c"), (4, "D")]
    snapshots = spark.table(f"{table}.snapshots").count()
    assert sqlext.merge(rows.where("id > 9"), table, ["id"]).affected == 0
    assert spark.table(f"{table}.snapshots").count() <= snapshots + 1


def test_the_name_of_a_column_is_that_column(spark: SparkSession, table: str) -> None:
    rows = spark.createDataFrame([(2, "B", False), (4, "D", True)], "id INT, v STRING, late BOOLEAN")
    insert = (
        "WHEN MATCHED THEN UPDATE SET v = source.v WHEN NOT MATCHED THEN INSERT (id, v) VALUES (source.id, source.v)"
    )
    assert sqlext.merge(rows, table, "ID", insert) == (2, 1, 1, 0)
    assert sqlext.merge(rows.where("late"), table, "late", "WHEN MATCHED THEN DELETE").deleted == 4, "it is a condition"
    spark.sql(f"ALTER TABLE {table} ADD COLUMN `a = b` INT")
    odd = spark.sql("SELECT 5 AS id, 'E' AS v, 1 AS `a = b`")
    assert sqlext.merge(odd, table, "a = b").inserted == 1


def test_clauses_are_those_of_the_statement(spark: SparkSession, table: str) -> None:
    rows = spark.createDataFrame([(1, "x{y}"), (2, None), (9, "'z'")], "id INT, v STRING")
    when = """
        WHEN MATCHED AND source.v IS NULL THEN DELETE
        WHEN MATCHED THEN UPDATE SET v = concat(target.v, source.v, '{RETURNING}', "-- RETURNING") -- RETURNING {*}
        WHEN NOT MATCHED THEN INSERT (id, v) VALUES (source.id, source.v)
        WHEN NOT MATCHED BY SOURCE AND target.id = 3 THEN UPDATE SET v = 'gone' /* RETURNING id */
    """
    counts = sqlext.merge(rows, table, "target.id = source.id -- equal", when)
    assert counts._asdict() == {"affected": 4, "inserted": 1, "updated": 2, "deleted": 1}
    assert _stored(spark, table) == [(1, "ax{y}{RETURNING}-- RETURNING"), (3, "gone"), (9, "'z'")]


def test_columns_are_keywords_and_have_dots(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (`select` INT, `a.b` INT, `re``turning` INT, source INT, target INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 2, 3, 4, 5), (1, NULL, 3, 4, 5)")
    rows = spark.sql("SELECT 1 AS `select`, 2 AS `a.b`, 6 AS `re``turning`, 7 AS source, 8 AS target")
    assert sqlext.merge(rows, table_name, ["SELECT", "a.b"]) == (1, 0, 1, 0)
    assert sqlext.merge(rows.withColumn("a.b", F.lit(None).cast("int")), table_name, ("select", "a.b")).inserted == 1
    assert spark.table(table_name).where("source = 7").count() == 2


def test_errors_are_those_of_the_statement(spark: SparkSession, table: str) -> None:
    rows = spark.createDataFrame([(1, "x"), (1, "y")], "id INT, v STRING")
    for condition, on, when in (
        ("MERGE_CARDINALITY_VIOLATION", "target.id = source.id", "WHEN MATCHED THEN UPDATE SET v = source.v"),
        ("UNRESOLVED_COLUMN", ["idd"], "WHEN MATCHED THEN DELETE"),
        ("PARSE_SYNTAX_ERROR", ["id"], "WHEN MATCHED"),
        ("MERGE_WITHOUT_WHEN", ["id"], ""),
    ):
        with pytest.raises(PySparkException, match=condition):
            sqlext.merge(rows, table, on, when)
    with pytest.raises(PySparkException, match="TABLE_OR_VIEW_NOT_FOUND"):
        sqlext.merge(rows, "lake.db.missing", ["id"])
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
        sqlext.merge(rows.selectExpr("id", "CAST(1 / (id - 1) AS STRING) AS v"), table, ["id"])
    for wrong in ("lake.db.`t", "lake..t"):
        with pytest.raises(SqlextError, match="INVALID_NAME"):
            sqlext.merge(rows, wrong, ["id"])
    for empty in ("", []):
        with pytest.raises(ValueError, match="needs a condition"):
            sqlext.merge(rows, table, empty)
    assert _stored(spark, table) == [(1, "a"), (2, "b"), (3, "c")]


def test_returning_is_refused_before_anything_runs(spark: SparkSession, table: str) -> None:
    rows = spark.createDataFrame([(1, "x")], "id INT, v STRING")
    for ending in ("RETURNING *", "returning(id)", "\nRETURNING target.id, source.v"):
        with pytest.raises(UnsupportedError, match="MERGE_RETURNS_COUNTS"):
            sqlext.merge(rows, table, ["id"], f"WHEN MATCHED THEN DELETE {ending}")
    assert _stored(spark, table)[0] == (1, "a")
    when = "WHEN MATCHED AND target.`v` <> 'RETURNING' THEN DELETE"
    assert sqlext.merge(rows, table, ["id"], when).deleted == 1


def test_branches_transactions_and_new_columns(spark: SparkSession, table: str) -> None:
    spark.sql(f"ALTER TABLE {table} CREATE BRANCH side")
    rows = spark.createDataFrame([(1, "x", 5)], "id INT, v STRING, n INT")
    with sqlext.transaction(spark, "lake"):
        assert sqlext.merge(rows.select("id", "v"), f"{table}.branch_side", ["id"]).updated == 1
        assert spark.newSession().table(f"{table}.branch_side").where("v = 'x'").count() == 0
    assert _stored(spark, f"{table}.branch_side")[0] == (1, "x")
    assert _stored(spark, table)[0] == (1, "a")
    with pytest.raises(PySparkException):
        sqlext.merge(rows, table, ["id"], "WHEN MATCHED THEN UPDATE SET n = source.n")
    assert sqlext.merge(rows, table, ["id"], schema_evolution=True).updated == 1
    assert _stored(spark, table)[0] == (1, "x", 5)


def test_a_source_of_the_target_itself(spark: SparkSession, table: str) -> None:
    rows = spark.table(table).where("id < 3").selectExpr("id + 2 AS id", "upper(v) AS v")
    assert sqlext.merge(rows, table, ["id"]) == (2, 1, 1, 0)
    assert _stored(spark, table) == [(1, "a"), (2, "b"), (3, "A"), (4, "B")]
