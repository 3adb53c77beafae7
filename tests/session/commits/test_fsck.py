"""CALL fsck and health in a session."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from sqlext.storage.location import to_local_path


def folder(warehouse: Path, table: str) -> Path:
    return warehouse.joinpath(*table.split(".")[1:])


def fsck(spark: SparkSession, arguments: str) -> list[Row]:
    rows: list[Row] = spark.sql(f"CALL lake.system.fsck({arguments})").collect()
    return rows


def filled(spark: SparkSession, table: str, properties: str = "'format-version'='3'") -> None:
    spark.sql(f"CREATE TABLE {table} (id INT, `v w` STRING) TBLPROPERTIES ({properties})")
    spark.sql(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    spark.sql(f"INSERT INTO {table} VALUES (4, 'd')")
    spark.sql(f"DELETE FROM {table} WHERE id = 2")


def test_a_healthy_table_has_no_rows(spark: SparkSession, table_name: str) -> None:
    filled(spark, table_name)
    assert fsck(spark, f"'{table_name}'") == []
    assert fsck(spark, f"table => '{table_name}', check => 'files', repair => true") == []


def test_a_lost_data_file(spark: SparkSession, warehouse: Path, table_name: str) -> None:
    filled(spark, table_name)
    spark.sql(f"CACHE TABLE {table_name}")
    (path,) = (row[0] for row in spark.sql(f"SELECT DISTINCT _file FROM {table_name} WHERE id = 4").collect())
    Path(to_local_path(path)).unlink()
    (found,) = fsck(spark, f"'{table_name}'")
    assert (found["check"], found.severity, found.object) == ("missing", "error", path)
    assert found.repair == "repair => true"
    assert [row.object for row in fsck(spark, "") if row.table in table_name] == [path]
    (done,) = fsck(spark, f"'{table_name}', repair => true")
    assert f"1 rows of {path} are lost" in done.repair
    assert sorted(row.id for row in spark.table(table_name).collect()) == [1, 3]
    assert fsck(spark, f"'{table_name}'")[0].snapshot_id == found.snapshot_id
    spark.sql(f"CALL lake.system.expire_snapshots('{table_name}', TIMESTAMP '2100-01-01')")
    assert fsck(spark, f"'{table_name}'") == []


def test_metadata_that_cannot_be_read(spark: SparkSession, warehouse: Path, table_name: str) -> None:
    filled(spark, table_name)
    rows = spark.sql(f"SELECT id FROM {table_name} ORDER BY id").collect()
    spark.sql(f"INSERT INTO {table_name} VALUES (9, 'z')")
    newest = max((folder(warehouse, table_name) / "metadata").glob("v*.json"), key=lambda one: one.stat().st_mtime_ns)
    newest.write_bytes(newest.read_bytes()[:100])
    (found,) = fsck(spark, f"'{table_name}'")
    assert found["check"] == "unreadable"
    (done,) = fsck(spark, f"'{table_name}', repair => true")
    assert "lost" in done.repair
    assert spark.sql(f"SELECT id FROM {table_name} ORDER BY id").collect() == rows


def test_what_is_refused(spark: SparkSession, table_name: str) -> None:
    with pytest.raises(PySparkException, match="none of false, true, files"):
        fsck(spark, f"'{table_name}', repair => 'maybe'")
    with pytest.raises(PySparkException, match="none of metadata, files"):
        fsck(spark, f"'{table_name}', check => 'all'")
    with pytest.raises(PySparkException, match="needs a table"):
        fsck(spark, "repair => 'files'")
    with pytest.raises(PySparkException, match="TABLE_OR_VIEW_NOT_FOUND"):
        fsck(spark, f"'{table_name}'")
    filled(spark, table_name)
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH side")
    for part, told in (("branch_side", "the branch side"), ("files", "the metadata table files"), ("ro", "view")):
        with pytest.raises(PySparkException, match=f"{told} of {table_name}, all of which fsck looks at"):
            fsck(spark, f"'{table_name}.{part}'")
    spark.sql("BEGIN")
    try:
        with pytest.raises(PySparkException, match="fsck"):
            fsck(spark, f"'{table_name}'")
    finally:
        spark.sql("ROLLBACK")


def test_health_tells_what_a_table_consists_of(spark: SparkSession, table_name: str) -> None:
    filled(spark, table_name)
    told = {row.measure: row for row in spark.table(f"{table_name}.health").collect()}
    assert told["data files"].value == 2
    assert told["rows in data files"].value == 4
    assert told["rows deleted by position"].value == told["deletion vectors"].value == 1
    called = {row.measure: row for row in spark.sql(f"CALL lake.system.health('{table_name}')").collect()}
    assert {name: called[name].value for name in told} == {name: row.value for name, row in told.items()}
    assert called["full compaction"].value == 2
    assert called["snapshots that have expired"].value == 0
    before = spark.table(f"{table_name}.snapshots").count()
    spark.sql(f"CALL lake.system.compact('{table_name}', full => true)")
    after = {row.measure: row for row in spark.table(f"{table_name}.health").collect()}
    assert after["data files"].value == 1
    assert after["rows deleted by position"].value == 0
    assert spark.table(f"{table_name}.snapshots").count() > before
