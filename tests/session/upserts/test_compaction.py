"""Compaction of tables without buckets by tasks, and beside writers."""

from __future__ import annotations

import random
import threading

import pytest
from pyspark.sql import SparkSession

from sessions import planned

ROWS = 3_000_000
LAYOUTS = {
    "as rows come": "",
    "sorted": "ORDERED BY (id DESC)",
    "by partition": "PARTITIONED BY (part)",
    "by partition, as rows come": "PARTITIONED BY (part) TBLPROPERTIES ('write.distribution-mode'='none')",
}


@pytest.mark.turns(1)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("on_driver", [False, pytest.param(True, marks=pytest.mark.long)])
def test_as_few_files_are_written_as_hold_the_rows(
    spark: SparkSession, table_name: str, layout: str, on_driver: bool
) -> None:
    """By tasks, as with more rows than the driver merges, and by the driver, which leaves sorting so many to them."""
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, part INT, v STRING) {LAYOUTS[layout]}")
    count = ROWS if on_driver else ROWS // 3
    for start in range(6):
        rows = spark.range(start, count, 6, 2).selectExpr("id", "CAST(id DIV 6 % 2 AS INT) AS part", "'a' AS v")
        rows.writeTo(table_name).append()
    with planned(spark, **({} if on_driver else {"compacted_bytes": 0})):
        done = spark.sql(f"CALL lake.system.compact('{table_name}')").collect()[0]
    assert done.compacted_buckets_count == done.added_data_files_count == (2 if "partition" in layout else 1)
    files = spark.sql(f"SELECT record_count FROM {table_name}.files").collect()
    assert [row.record_count for row in files] == [count // done.added_data_files_count] * done.added_data_files_count
    assert tuple(spark.sql(f"SELECT count(DISTINCT id), sum(id) FROM {table_name}").collect()[0]) == (
        count,
        count * (count - 1) // 2,
    )
    if layout == "sorted":
        steps = f"SELECT id - lead(id) OVER (PARTITION BY _file ORDER BY _pos) AS step FROM {table_name}"
        assert spark.sql(f"SELECT min(step), max(step) FROM ({steps})").collect() == [(1, 1)]


@pytest.mark.parametrize("mode", ["resolved", "equality"])
def test_writers_of_a_table_that_compacts_itself_lose_no_row(spark: SparkSession, table_name: str, mode: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id BIGINT, v STRING, PRIMARY KEY (id) NOT ENFORCED) TBLPROPERTIES"
        f" ('format-version'='3', 'write.upsert.mode'='{mode}', 'write-only'='false', 'compaction.min.file-num'='2',"
        " 'compaction.delete-ratio-threshold'='0.1', 'compaction.delete-file-threshold'='2')"
    )
    spark.sql(f"INSERT INTO {table_name} SELECT id, 'first' FROM range(60)")
    failures: list[BaseException] = []
    last: dict[int, str] = dict.fromkeys(range(60), "first")

    def upsert(writer: int) -> None:
        rng = random.Random(f"{mode} {writer}")
        try:
            for number in range(6):
                ids = rng.sample(range(writer, 60, 3), 8)
                values = ", ".join(f"({id}, '{writer}.{number}')" for id in ids)
                spark.sql(f"UPSERT INTO {table_name} VALUES {values}")
                last.update(dict.fromkeys(ids, f"{writer}.{number}"))
        except BaseException as failure:
            failures.append(failure)

    writers = [threading.Thread(target=upsert, args=(writer,)) for writer in range(3)]
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    assert not [str(failure) for failure in failures]
    assert sorted(tuple(row) for row in spark.table(table_name).collect()) == sorted(last.items())
    assert spark.sql(f"SELECT * FROM {table_name}.snapshots WHERE operation = 'replace'").count() > 0
