"""A table that looks after itself, in a session: what statements leave behind goes in the background."""

from __future__ import annotations

import time
from pathlib import Path

from pyspark.sql import Row, SparkSession

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


def _ended(spark: SparkSession, table: str) -> Row:
    """The first task for the table, once it has ended."""
    for _ in range(300):
        tasks: list[Row] = spark.sql(f"CALL lake.system.care_status(table => '{table}')").collect()
        if tasks and tasks[0].ended_at is not None:
            return tasks[0]
        time.sleep(0.2)
    raise AssertionError(f"nothing has ended: {tasks}")
