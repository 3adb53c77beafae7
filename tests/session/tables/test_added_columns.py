"""ADD COLUMN of generated and identity columns: the rows that are there have their values after its commit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sqlext.local
from catalog.rest_server import RestServer
from judges.iceberg import IcebergJudge
from sessions import planned
from sqlext.local import LocalTable
from sqlext.testing import Faults

ADDED = "twice INT GENERATED ALWAYS AS (n * 2) AFTER n, number BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 10)"
WAYS = [("1", "copy-on-write"), ("2", "merge-on-read"), ("2", "copy-on-write"), ("3", "auto"), ("3", "merge-on-read")]


def _require_values(spark: SparkSession, table: str, rows: int) -> None:
    found = spark.table(table).collect()
    assert len(found) == rows
    assert [row for row in found if row.twice != row.n * 2] == []
    assert len({row.number for row in found} - {None}) == rows
    assert min(row.number for row in found) >= 10


@pytest.mark.parametrize("driver_bytes", [0, 2**30], ids=["tasks", "driver"])
@pytest.mark.parametrize(("version", "mode"), WAYS)
def test_rows_get_values_in_the_commit_of_the_column(
    spark: SparkSession, table_name: str, iceberg: IcebergJudge, version: str, mode: str, driver_bytes: int
) -> None:
    modes = ", ".join(f"'write.{verb}.mode'='{mode}'" for verb in ("delete", "update"))
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, n INT, v STRING) PARTITIONED BY (bucket(2, id))"
        f" TBLPROPERTIES ('format-version'='{version}', {modes})"
    )
    spark.sql(f"INSERT INTO {table_name} SELECT id, id, 'a' FROM range(0, 20, 1, 2)")
    iceberg.sql(f"INSERT INTO {table_name} VALUES (20, 20, 'b')")
    spark.sql(f"DELETE FROM {table_name} WHERE id = 3")
    lineage = {} if version != "3" else _row_ids(spark, table_name)
    before = spark.sql(f"SELECT * FROM {table_name}.snapshots").count()
    with planned(spark, driver_bytes=driver_bytes):
        spark.sql(f"ALTER TABLE {table_name} ADD COLUMNS ({ADDED})")
    assert spark.sql(f"SELECT * FROM {table_name}.snapshots").count() == before + 1
    _require_values(spark, table_name, 20)
    assert spark.table(table_name).columns == ["id", "n", "twice", "v", "number"]
    assert lineage == ({} if version != "3" else _row_ids(spark, table_name))
    spark.sql(f"INSERT INTO {table_name} (id, n) VALUES (21, 21), (22, 22)")
    spark.sql(f"UPDATE {table_name} SET n = n + 1 WHERE id > 15")
    _require_values(spark, table_name, 22)
    assert [tuple(row) for row in iceberg.sql(f"SELECT count(*), sum(twice) FROM {table_name}")] == [
        tuple(spark.sql(f"SELECT count(*), sum(n * 2) FROM {table_name}").first())
    ]


def _row_ids(spark: SparkSession, table: str) -> dict[int, int]:
    return {row.id: row._row_id for row in spark.sql(f"SELECT id, _row_id FROM {table}").collect()}


def test_an_empty_table_gets_no_snapshot(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, n INT)")
    spark.sql(f"ALTER TABLE {table_name} ADD COLUMNS ({ADDED})")
    assert spark.sql(f"SELECT * FROM {table_name}.snapshots").count() == 0
    spark.sql(f"INSERT INTO {table_name} (id, n) VALUES (1, 1)")
    assert spark.table(table_name).collect() == [(1, 1, 2, 10)]
    spark.sql(f"DELETE FROM {table_name}")
    spark.sql(f"ALTER TABLE {table_name} ADD COLUMN more INT GENERATED ALWAYS AS (id)")
    assert spark.sql(f"SELECT * FROM {table_name}.snapshots").count() == 2


@pytest.mark.parametrize("rows", ["", "INSERT INTO {t} VALUES (1, 1), (2, 2)"], ids=["empty", "rows"])
def test_rows_that_others_add_meanwhile_get_values_too(spark: SparkSession, table_name: str, rows: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, n INT)")
    if rows:
        spark.sql(rows.format(t=table_name))

    def add(table: LocalTable) -> None:
        table.append([{"id": 9, "n": 9}])

    with Faults().lose_next_commit(2, by=add):
        spark.sql(f"ALTER TABLE {table_name} ADD COLUMNS ({ADDED})")
    _require_values(spark, table_name, 4 if rows else 2)


def test_rows_of_other_branches_get_values_when_they_change(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, n INT) TBLPROPERTIES ('write.wap.enabled'='true')")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1), (2, 2)")
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH audit")
    spark.conf.set("spark.wap.branch", "audit")
    try:
        spark.sql(f"ALTER TABLE {table_name} ADD COLUMNS ({ADDED})")
    finally:
        spark.conf.unset("spark.wap.branch")
    _require_values(spark, table_name, 2)
    branch = f"{table_name}.branch_audit"
    assert {(row.twice, row.number) for row in spark.table(branch).collect()} == {(None, None)}
    spark.sql(f"UPDATE {branch} SET n = n")
    _require_values(spark, branch, 2)
    numbers = [row.number for at in (table_name, branch) for row in spark.table(at).collect()]
    assert len({*numbers}) == 4
    spark.conf.set("spark.wap.id", "w")
    try:
        with pytest.raises(PySparkException, match=r"RESET spark\.wap\.id"):
            spark.sql(f"ALTER TABLE {table_name} ADD COLUMN more INT GENERATED ALWAYS AS (n)")
    finally:
        spark.conf.unset("spark.wap.id")
    assert "more" not in spark.table(table_name).columns


def test_an_error_leaves_the_table_as_it_was(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, n INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1), (0, 0)")
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
        spark.sql(f"ALTER TABLE {table_name} ADD COLUMN part INT GENERATED ALWAYS AS (CAST(10 / n AS INT))")
    with pytest.raises(PySparkException, match=f"of {re.escape(table_name)} has more than 2 characters"):
        spark.sql(f"ALTER TABLE {table_name} ADD COLUMN short VARCHAR(2) GENERATED ALWAYS AS (CAST(n + 99 AS STRING))")
    spark.sql("BEGIN TRANSACTION")
    spark.sql(f"ALTER TABLE {table_name} ADD COLUMNS ({ADDED})")
    _require_values(spark, table_name, 2)
    spark.sql("ROLLBACK")
    assert spark.table(table_name).columns == ["id", "n"]
    assert sorted(spark.table(table_name).collect()) == [(0, 0), (1, 1)]


def test_a_changelog_tells_of_the_values(spark: SparkSession, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, n INT, PRIMARY KEY (id)) TBLPROPERTIES ('changelog-producer'='lookup')"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1), (2, 2)")
    before = spark.sql(f"SELECT snapshot_id FROM {table_name}.snapshots").first()[0]
    spark.sql(f"ALTER TABLE {table_name} ADD COLUMNS ({ADDED})")
    changes = spark.sql(f"SELECT * FROM table_changes('{table_name}', {before})").collect()
    told = sorted((change.id, change._change_type, change.twice) for change in changes)
    assert told == [(id, kind, twice) for id in (1, 2) for kind, twice in _images(id)]


def _images(id: int) -> list[tuple[str, int | None]]:
    return [("UPDATE_AFTER", id * 2), ("UPDATE_BEFORE", None)]


@pytest.fixture(params=["rest", "sqlite"])
def other_catalog(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """The name of a catalog behind a server, or in a database."""
    name = f"added_{request.param}"
    server = RestServer(tmp_path) if request.param == "rest" else None
    database = {"type": "jdbc", "uri": f"jdbc:sqlite:{tmp_path / 'lake.db'}", "warehouse": str(tmp_path / "lake")}
    settings: dict[str, Any] = {"": "io.sqlext.Catalog"}
    settings |= {f".{key}": value for key, value in (database if server is None else server.settings()).items()}
    for key, value in settings.items():
        spark.conf.set(f"spark.sql.catalog.{name}{key}", value)
    spark.sql(f"CREATE NAMESPACE {name}.db")
    yield name
    if server is not None:
        server.stop()


def test_catalogs_in_databases_and_behind_servers(spark: SparkSession, other_catalog: str) -> None:
    table = f"{other_catalog}.db.t"
    spark.sql(f"CREATE TABLE {table} (id INT, n INT)")
    spark.sql(f"INSERT INTO {table} VALUES (1, 1), (2, 2)")
    with Faults().lose_next_commit(by=lambda other: other.append([{"id": 3, "n": 3}])):
        spark.sql(f"ALTER TABLE {table} ADD COLUMNS ({ADDED})")
    _require_values(spark, table, 3)
    with Faults().lose_next_commit(2):
        told = spark.sql(f"INSERT INTO {table} (id, n) VALUES (4, 4), (5, 5) RETURNING number").collect()
    _require_values(spark, table, 5)
    assert {row.number for row in told} <= {row.number for row in spark.table(table).collect()}


def test_without_a_jvm_they_count_on(spark: SparkSession, table_name: str, warehouse: Path) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1), (2)")
    spark.sql(f"ALTER TABLE {table_name} ADD COLUMN number BIGINT GENERATED ALWAYS AS IDENTITY (INCREMENT BY -1)")
    table = sqlext.local.open(str(warehouse), {"care": "none"}).table(table_name.partition(".")[2])
    table.append([{"id": 3}])
    assert sorted(table.to_arrow().column("number").to_pylist(), reverse=True) == [1, 0, -1]
