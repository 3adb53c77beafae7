"""Whose fault an error is said to be, and what its text shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pytest
from pyspark.errors import AnalysisException, PySparkException, PythonException
from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf, udf

STATEMENTS = (
    "INSERT INTO {t} SELECT id, {f}(v) FROM {t}",
    "INSERT INTO {t} SELECT id, {f}('x') FROM range(400000)",
    "INSERT OVERWRITE {t} SELECT id, {f}(v) FROM {t}",
    "UPSERT INTO {t} SELECT id, {f}(v) FROM {t}",
    "UPDATE {t} SET v = {f}(v)",
    "UPDATE {t} SET v = 'x' WHERE {f}(v) = 'x'",
    "DELETE FROM {t} WHERE {f}(v) = 'x'",
    "MERGE INTO {t} USING (SELECT id, {f}(v) AS v FROM {t}) AS s ON {t}.id = s.id WHEN MATCHED THEN UPDATE SET *",
    "MERGE INTO {t} USING (SELECT 1 AS id) AS s ON {t}.id = s.id WHEN MATCHED AND {f}(v) = 'a' THEN DELETE",
    "CREATE TABLE {t}_made AS SELECT id, {f}(v) AS v FROM {t}",
)


@pytest.fixture
def functions(spark: SparkSession) -> Iterator[tuple[str, ...]]:
    def fails(value: str) -> str:
        raise ValueError("the user's own mistake")

    def fails_in_batches(values: pd.Series) -> pd.Series:
        raise ValueError("the user's own mistake")

    spark.udf.register("fails", udf(fails, "string"))
    spark.udf.register("fails_in_batches", pandas_udf(fails_in_batches, "string"))
    yield ("fails", "fails_in_batches")
    for name in ("fails", "fails_in_batches"):
        spark.sql(f"DROP TEMPORARY FUNCTION {name}")


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_users_function_that_fails_is_the_users(
    spark: SparkSession, table_name: str, functions: tuple[str, ...], statement: str
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, v STRING, PRIMARY KEY (id))")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a')")
    for function in functions:
        with pytest.raises(PythonException) as caught:
            spark.sql(statement.format(t=table_name, f=function)).collect()
        assert "the user's own mistake" in str(caught.value)
        assert "INTERNAL_ERROR" not in str(caught.value)


def test_a_frames_function_that_fails_is_the_users(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, PRIMARY KEY (id))")

    def fails(batches: Any) -> Any:
        raise ValueError("the user's own mistake")
        yield

    for rows in (3, 400_000):
        frame = spark.range(rows)
        for mapped in (frame.mapInArrow(fails, "id bigint"), frame.mapInPandas(fails, "id bigint")):
            with pytest.raises(PythonException, match="the user's own mistake"):
                mapped.writeTo(table_name).append()


REFUSED: tuple[Callable[[str], str], ...] = (
    lambda t: f"ALTER TABLE {t} ADD PARTITION (p = 1)",
    lambda t: f"ALTER TABLE {t} DROP PARTITION (p = 1)",
    lambda t: f"SHOW PARTITIONS {t}",
    lambda t: f"SELECT nobody FROM {t}",
    lambda t: f"CREATE INDEX i ON {t} (id)",
    lambda t: f"SELECT * FROM {t} TABLESAMPLE (nobody ROWS)",
    lambda t: f"ANALYZE TABLE {t} COMPUTE STATISTICS FOR COLUMNS nobody",
)


@pytest.mark.parametrize("statement", REFUSED)
def test_no_text_shows_an_objects_address(
    spark: SparkSession, table_name: str, statement: Callable[[str], str]
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, p INT) PARTITIONED BY (p)")
    with pytest.raises(PySparkException) as caught:
        spark.sql(statement(table_name)).collect()
    assert re.findall(r"[\w.$]+@[0-9a-f]{5,}", str(caught.value)) == []


@pytest.mark.parametrize("part", ["snapshots", "branch_main", "tag_kept", "changes"])
def test_a_part_of_a_table_is_not_dropped(spark: SparkSession, table_name: str, part: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1)")
    spark.sql(f"ALTER TABLE {table_name} CREATE TAG kept")
    for statement in (f"DROP TABLE {table_name}.{part}", f"DROP TABLE IF EXISTS {table_name}.{part}"):
        with pytest.raises(AnalysisException) as caught:
            spark.sql(statement)
        assert caught.value.getCondition() in ("PART_OF_A_TABLE", "EXPECT_TABLE_NOT_VIEW")
    assert spark.table(table_name).count() == 1


@pytest.mark.parametrize("part", ["snapshots", "branch_main", "tag_kept", "snapshot_id_1", "tag_kept.files"])
@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE {part} ADD COLUMN v INT",
        "ALTER TABLE {part} ADD PARTITION FIELD id",
        "ALTER TABLE {part} WRITE ORDERED BY id",
        "ALTER TABLE {part} ADD PRIMARY KEY (id)",
        "ALTER TABLE {part} ADD CONSTRAINT c CHECK (id > 0)",
        "ALTER TABLE {part} CREATE BRANCH b",
        "ALTER TABLE {part} DROP TAG kept",
        "RESTORE TABLE {part} TO VERSION AS OF 'kept'",
        "CREATE TABLE lake.db.never_made LIKE {part}",
        "CALL lake.system.rollback_to_snapshot('{part}', 1)",
        "CALL lake.system.compact('{part}')",
    ],
)
def test_what_is_about_a_whole_table_tells_a_part_of_one(
    spark: SparkSession, table_name: str, statement: str, part: str
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1)")
    spark.sql(f"ALTER TABLE {table_name} CREATE TAG kept")
    with pytest.raises(AnalysisException, match=f"of the table {table_name}, .* Name {table_name}") as caught:
        spark.sql(statement.format(part=f"{table_name}.{part}"))
    assert caught.value.getCondition() == "EXPECT_TABLE_NOT_PART"


@pytest.mark.parametrize("current", ["lake.db", "spark_catalog.default"])
@pytest.mark.parametrize(
    "statement",
    [
        "MERGE INTO shown AS t USING (SELECT 1 AS id) AS s ON t.id = s.id WHEN MATCHED THEN DELETE",
        "UPDATE shown SET id = 2",
        "DELETE FROM shown WHERE id = 1",
        "UPSERT INTO shown VALUES (1)",
        "CREATE TABLE lake.db.never_made LIKE shown",
    ],
)
def test_a_temporary_view_is_told_whatever_catalog_is_current(
    spark: SparkSession, table_name: str, current: str, statement: str
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, PRIMARY KEY (id))")
    spark.table(table_name).createOrReplaceTempView("shown")
    spark.sql(f"USE {current}")
    try:
        with pytest.raises(PySparkException, match="temporary view") as caught:
            spark.sql(statement).collect()
        assert "lake.db.shown" not in str(caught.value)
    finally:
        spark.sql("USE spark_catalog.default")
        spark.catalog.dropTempView("shown")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("", "no table"),
        ("'{t}', 1, 2, 'net', 5", "5 arguments"),
        ("'{t}', mode => 'net'", "argument mode is given by name"),
        ("'{t}', rand()", "is no constant"),
        ("null", "name is null"),
    ],
)
def test_arguments_of_table_changes_are_told(spark: SparkSession, table_name: str, arguments: str, told: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    with pytest.raises(AnalysisException, match=told) as caught:
        spark.sql(f"SELECT * FROM table_changes({arguments.format(t=table_name)})")
    assert caught.value.getCondition() == "CHANGES_ARGUMENTS"


def test_what_a_data_frame_says_of_a_layout_is_told_in_its_words(spark: SparkSession, table_name: str) -> None:
    rows = spark.range(1).selectExpr("id", "id AS v")
    for writer, told in (
        (rows.write.bucketBy(4, "id").sortBy("id"), "sortBy orders rows"),
        (rows.write.clusterBy("id"), "clusterBy orders rows"),
        (rows.write.bucketBy(4, "id", "v"), "one source column"),
    ):
        with pytest.raises(AnalysisException, match=told) as caught:
            writer.saveAsTable(table_name)
        assert caught.value.getCondition() == "INVALID_PARTITION_TRANSFORM"
    assert not spark.catalog.tableExists(table_name)


def test_metrics_are_of_columns_that_are_there(spark: SparkSession, table_name: str) -> None:
    prefix = "write.metadata.metrics.column"
    for statement in (
        f"CREATE TABLE {table_name} (id INT) TBLPROPERTIES ('{prefix}.nope'='full')",
        f"ALTER TABLE {table_name} SET TBLPROPERTIES ('{prefix}.s.nope'='truncate(4)')",
    ):
        with pytest.raises(AnalysisException, match="no such column") as caught:
            spark.sql(statement)
        assert caught.value.getCondition() == "INVALID_TABLE_PROPERTY"
        spark.sql(f"CREATE TABLE IF NOT EXISTS {table_name} (id INT, s STRUCT<a: INT>)")
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('{prefix}.s.a'='none', '{prefix}.id'='counts')")


def test_a_table_is_made_in_a_namespace_that_is_there(spark: SparkSession) -> None:
    for made in (
        "CREATE TABLE lake.absent.t (id INT)",
        "CREATE TABLE lake.absent.t AS SELECT 1 AS id",
        "CREATE TABLE lake.absent.t LIKE lake.absent.t",
        "CREATE VIEW lake.absent.v AS SELECT 1 AS id",
        "CREATE TABLE lake.db.absent.t (id INT)",
    ):
        with pytest.raises(AnalysisException) as caught:
            spark.sql(made)
        assert caught.value.getCondition() in ("SCHEMA_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND")
    with pytest.raises(AnalysisException, match="SCHEMA_NOT_FOUND"):
        spark.range(1).writeTo("lake.absent.t").create()
    assert "absent" not in [row[0] for row in spark.sql("SHOW NAMESPACES IN lake").collect()]


def test_the_way_out_names_a_table_as_sql_does(spark: SparkSession, table_name: str) -> None:
    table = f"{table_name.rpartition('.')[0]}.`a.b ``c`"
    spark.sql(f"CREATE TABLE {table} (id INT)")
    try:
        for wrong in (f"SELECT * FROM {table} VERSION AS OF 5", f"SELECT * FROM {table}.branch_nope"):
            with pytest.raises(AnalysisException, match=r"(SNAPSHOT|REFERENCE)_NOT_FOUND") as refused:
                spark.sql(wrong)
            way_out = re.search(r"SELECT \* FROM .*(?= lists)", str(refused.value))
            assert way_out is not None
            assert spark.sql(way_out[0]).count() >= 0
    finally:
        spark.sql(f"DROP TABLE {table}")
