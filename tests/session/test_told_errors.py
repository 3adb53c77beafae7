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
    lambda t: f"ANALYZE TABLE {t} COMPUTE STATISTICS",
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
