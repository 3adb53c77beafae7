"""Statements of several threads on a catalog with group commit: all land, and together where they overlap."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from judges.iceberg import IcebergJudge

WRITERS = 6


@pytest.fixture(params=["process", "host"])
def grouped(spark: SparkSession, warehouse: Path, table_name: str, request: pytest.FixtureRequest) -> str:
    """A table of the warehouse, under the name that it has in a catalog with group commit."""
    catalog = f"together_{request.param}"
    settings = {"": "io.sqlext.Catalog", ".warehouse": str(warehouse), ".group-commit": request.param}
    for name, value in settings.items():
        spark.conf.set(f"spark.sql.catalog.{catalog}{name}", value)
    table = table_name.replace("lake.", f"{catalog}.")
    columns = "id INT, n INT, PRIMARY KEY (id) NOT ENFORCED"
    # What others add meanwhile is no conflict; of statements that run again the tests of isolation tell.
    isolation = "'write.update.isolation-level'='snapshot', 'write.delete.isolation-level'='snapshot'"
    # Compactions of their own would be versions too, which the test counts.
    properties = f"'write.upsert.mode'='equality', 'write-only'='true', {isolation}"
    spark.sql(f"CREATE TABLE {table} ({columns}) WITH ({properties})")
    return table


def test_statements_of_threads_land_together(spark: SparkSession, iceberg: IcebergJudge, grouped: str) -> None:
    all_at_once = Barrier(WRITERS)

    def write(writer: int) -> None:
        for statement in (
            f"INSERT INTO {grouped} VALUES ({writer}, 0), ({100 + writer}, 0)",
            f"UPSERT INTO {grouped} VALUES ({writer}, 1), (50, {writer})",
            f"UPDATE {grouped} SET n = n + 1 WHERE id = {writer}",
            f"DELETE FROM {grouped} WHERE id = {100 + writer}",
        ):
            all_at_once.wait(timeout=120)
            spark.sql(statement)

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))

    expected = [(writer, 2) for writer in range(WRITERS)]
    rows = [tuple(row) for row in spark.sql(f"SELECT id, n FROM {grouped} WHERE id <> 50 ORDER BY id").collect()]
    assert rows == expected
    assert spark.sql(f"SELECT count(*) FROM {grouped} WHERE id = 50").collect()[0][0] == 1
    lake = f"lake.{grouped.partition('.')[2]}"
    assert iceberg.sql(f"SELECT id, n FROM {lake} WHERE id <> 50") == [list(row) for row in expected]
    versions = spark.sql(f"SELECT * FROM {grouped}.metadata_log_entries").count()
    assert versions < 1 + 4 * WRITERS


def test_an_insert_is_its_own_group_where_nobody_else_writes(spark: SparkSession, grouped: str) -> None:
    spark.sql(f"INSERT INTO {grouped} VALUES (1, 1)")
    spark.sql("BEGIN TRANSACTION")
    spark.sql(f"INSERT INTO {grouped} VALUES (2, 2)")
    spark.sql("COMMIT")
    assert spark.sql(f"SELECT id FROM {grouped} ORDER BY id").collect() == [(1,), (2,)]


def test_small_files_of_inserts_become_one(
    spark: SparkSession, iceberg: IcebergJudge, warehouse: Path, table_name: str
) -> None:
    settings = {"": "io.sqlext.Catalog", ".warehouse": str(warehouse), ".group-commit": "process"}
    for name, value in (settings | {".group-commit.min-file-size-bytes": "1048576"}).items():
        spark.conf.set(f"spark.sql.catalog.merging{name}", value)
    table = table_name.replace("lake.", "merging.")
    spark.sql(
        f"CREATE TABLE {table} (id BIGINT, part STRING, at TIMESTAMP, price DECIMAL(9, 2)) PARTITIONED BY (part)"
        " TBLPROPERTIES ('write.distribution-mode'='none')"
    )

    def write(writer: int) -> None:
        columns = "id, concat('p', id % 2), timestamp_millis(id), id / 7"
        spark.sql(f"INSERT INTO {table} SELECT {columns} FROM range({writer * 100}, {writer * 100 + 100}, 1, 3)")

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))
    # Of each partition one file of a snapshot, of three tasks and perhaps of several statements.
    added = spark.sql(f"SELECT DISTINCT summary['added-data-files'] FROM {table}.snapshots").collect()
    assert added == [("2",)]
    lake = f"lake.{table.partition('.')[2]}"
    found = "part, count(*), sum(id), count(DISTINCT at), CAST(max(price) AS STRING)"
    question = f"SELECT {found} FROM {{}} GROUP BY part ORDER BY part"
    assert iceberg.sql(question.format(lake)) == [list(row) for row in spark.sql(question.format(table)).collect()]
    assert spark.sql(f"SELECT count(DISTINCT id) FROM {table}").collect() == [(100 * WRITERS,)]
    data = [path for path in warehouse.rglob("*.parquet") if f"/{table.rpartition('.')[2]}/" in str(path)]
    assert len(data) == spark.sql(f"SELECT count(*) FROM {table}.files").collect()[0][0]


def test_a_setting_that_is_none(spark: SparkSession, warehouse: Path) -> None:
    settings = {"": "io.sqlext.Catalog", ".warehouse": str(warehouse), ".group-commit": "sometimes"}
    for name, value in settings.items():
        spark.conf.set(f"spark.sql.catalog.wrong{name}", value)
    with pytest.raises(PySparkException, match=r"CATALOG_OPTION_INVALID.*group-commit"):
        spark.sql("SHOW NAMESPACES IN wrong").collect()
