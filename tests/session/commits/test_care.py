"""A table that looks after itself, in a session: what statements leave behind goes in the background."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession

from sessions import planned

_UPSERTS = 60
_PROPERTIES = (
    "'write-only'='false', 'history.expire.max-snapshot-age-ms'='0', 'write.metadata.previous-versions-max'='5',"
    " 'compaction.min.file-num'='10'"
)


def test_what_many_upserts_leave_behind_goes(spark: SparkSession, warehouse: Path, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ({_PROPERTIES})")
    for number in range(_UPSERTS):
        spark.sql(f"UPSERT INTO {table_name} VALUES ({number % 7}, 'v{number}')")
    task = _ended(spark, table_name)
    assert task.state == "done", task
    assert task.table == table_name
    assert int(task.result.split()[0]) > 1
    # The table is left alone for a minute, so that the later snapshots are still there.
    left = spark.table(f"{table_name}.snapshots").count()
    assert left < 2 * _UPSERTS
    spark.sql(f"CALL lake.system.expire_snapshots('{table_name}')")
    assert spark.table(f"{table_name}.snapshots").count() == 1
    rows = {row.id: row.v for row in spark.table(table_name).collect()}
    assert rows == {number % 7: f"v{number}" for number in range(_UPSERTS)}
    files = [path.name for path in warehouse.joinpath(*table_name.split(".")[1:]).rglob("*") if path.is_file()]
    assert len([name for name in files if name.endswith(".metadata.json")]) <= 6
    assert len([name for name in files if name.startswith("snap-")]) == 1


def test_a_table_that_was_not_told_so_keeps_all(spark: SparkSession, table_name: str) -> None:
    told = _PROPERTIES.replace("'write-only'='false', ", "")
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ({told})")
    for number in range(12):
        spark.sql(f"UPSERT INTO {table_name} VALUES (1, 'v{number}')")
    assert spark.table(f"{table_name}.snapshots").count() == 12
    assert spark.sql(f"CALL lake.system.care_status('{table_name}')").collect() == []


@pytest.fixture
def cared(spark: SparkSession, warehouse: Path, table_name: str) -> str:
    """A name for a table in a catalog with the default for `care`, over the same folder."""
    spark.conf.set("spark.sql.catalog.cared", "io.sqlext.Catalog")
    spark.conf.set("spark.sql.catalog.cared.warehouse", str(warehouse))
    return table_name.replace("lake.", "cared.")


def test_a_table_with_a_key_looks_after_itself(spark: SparkSession, cared: str) -> None:
    spark.sql(f"CREATE TABLE {cared} (id INT, v STRING, PRIMARY KEY (id))")
    assert _property(spark, cared) == "false"
    for number in range(30):
        spark.sql(f"UPSERT INTO {cared} VALUES ({number}, 'v'), ({number + 1}, 'w')")
    assert spark.table(f"{cared}.data_files").count() < 10
    assert spark.table(cared).count() == 31
    spark.sql(f"REPLACE TABLE {cared} (id INT, v STRING)")
    assert _property(spark, cared) is None
    spark.sql(f"CREATE OR REPLACE TABLE {cared} TBLPROPERTIES ('primary-key'='id') AS SELECT 1 AS id, 'x' AS v")
    assert _property(spark, cared) == "false"


@pytest.mark.parametrize("said", ["'write-only'='true'", "'write.compaction-skip'='true'"])
def test_a_table_is_left_alone_if_it_says_so(spark: SparkSession, cared: str, said: str) -> None:
    spark.sql(f"CREATE TABLE {cared} (id INT, PRIMARY KEY (id)) TBLPROPERTIES ({said})")
    assert _property(spark, cared) != "false"


def test_large_compactions_are_left_to_the_background(spark: SparkSession, cared: str) -> None:
    told = "'compaction.delete-ratio-threshold'='0.05'"
    spark.sql(f"CREATE TABLE {cared} (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ({told})")
    spark.sql(f"INSERT INTO {cared} SELECT id, 'old' FROM range(1000)")
    with planned(spark, compacted_at_once_bytes=0):
        for number in range(12):
            spark.sql(f"UPSERT INTO {cared} SELECT id, 'new {number}' FROM range({number * 60}, {number * 60 + 60})")
        task = _ended(spark, cared)
    assert (task.table, task.task, task.state) == (cared, "compact", "done"), task
    files, _, _, added = task.result.split()[:4]
    assert int(files) >= int(added) > 0
    assert spark.table(cared).count() == 1000
    assert spark.sql(f"SELECT * FROM {cared} WHERE v <> 'old'").count() == 720


def _property(spark: SparkSession, table: str) -> str | None:
    told = {row.key: row.value for row in spark.sql(f"SHOW TBLPROPERTIES {table}").collect()}
    return told.get("write-only")


def _ended(spark: SparkSession, table: str) -> Row:
    """The first task for the table, once it has ended."""
    catalog = table.partition(".")[0]
    for _ in range(300):
        tasks: list[Row] = spark.sql(f"CALL {catalog}.system.care_status(table => '{table}')").collect()
        if tasks and tasks[0].ended_at is not None:
            return tasks[0]
        time.sleep(0.2)
    raise AssertionError(f"nothing has ended: {tasks}")
