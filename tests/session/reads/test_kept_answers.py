"""Answers about one version of a table: the JVM asks Python once for each."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from sqlext.spark.bridge import scan_bridge

Planned = Callable[[], int]


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> Planned:
    """How many scans Python has planned."""
    planned: list[None] = []
    plan_scan = scan_bridge.plan_scan

    def counted(*arguments: Any, **named: Any) -> Any:
        planned.append(None)
        return plan_scan(*arguments, **named)

    monkeypatch.setattr(scan_bridge, "plan_scan", counted)
    return lambda: len(planned)


def ids(spark: SparkSession, table: str, condition: str = "id > 0") -> list[int]:
    return [row.id for row in spark.sql(f"SELECT id FROM {table} WHERE {condition} ORDER BY id").collect()]


def test_a_scan_is_planned_once_for_each_version_and_condition(
    spark: SparkSession, table_name: str, plans: Planned
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1), (2)")
    before = plans()
    assert [ids(spark, table_name) for _ in range(3)] == [[1, 2]] * 3
    assert plans() == before + 1
    assert ids(spark, table_name, "id > 1") == [2]
    assert plans() == before + 2
    spark.sql(f"INSERT INTO {table_name} VALUES (3)")
    before = plans()
    assert ids(spark, table_name) == [1, 2, 3]
    assert plans() == before + 1


def test_a_table_registered_anew_under_its_old_names_is_planned_anew(
    spark: SparkSession, table_name: str, warehouse: Path
) -> None:
    """Its metadata files have the names, and its metadata the uuid, that an earlier table's had."""
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    folder = warehouse.joinpath(*table_name.split(".")[1:])
    backup = folder.with_name(f"{folder.name}_backup")
    shutil.copytree(folder, backup)
    for values, expected in (("(1)", [1]), ("(2)", [2])):
        spark.sql(f"INSERT INTO {table_name} VALUES {values}")
        assert ids(spark, table_name) == expected
        shutil.rmtree(folder)
        shutil.copytree(backup, folder)
    shutil.rmtree(backup)


def test_least_recently_used_answers_go_first(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    answer = jvm.com.fasterxml.jackson.databind.node.IntNode(1)
    kept = jvm.io.sqlext.KeptAnswers(4 * 5)
    for asked in "abcd":
        kept.keep(asked, answer, 1)
    assert kept.get("a").isDefined()
    kept.keep("e", answer, 1)
    assert {asked for asked in "abcde" if kept.get(asked).isDefined()} == set("acde")
    kept.keep("f", answer, 5)
    assert not kept.get("f").isDefined()
    kept.keep("c", answer, 4)
    assert {asked for asked in "abcdef" if kept.get(asked).isDefined()} == {"c"}


@pytest.mark.parametrize(
    "path",
    [
        *("/a/b/x.parquet", "file:/a/b/x.parquet", "file:/a//b/x-1_2.parquet", "file:///a/b/x.parquet"),
        *("file:/a/b=c d/x.parquet", "file:/a/b/x=ü %.parquet", "s3://b/a%20b/x.parquet", "x.parquet"),
    ],
)
def test_paths_are_encoded_as_spark_encodes_them(spark: SparkSession, path: str) -> None:
    jvm: Any = spark._jvm
    paths = jvm.io.sqlext.FilePaths()
    expected = jvm.org.apache.spark.paths.SparkPath.fromPathString(path).urlEncoded()
    assert [paths.encoded(path).urlEncoded() for _ in range(2)] == [expected] * 2
