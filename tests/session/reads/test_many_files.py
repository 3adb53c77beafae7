"""Metadata tables of many files come to Spark in parts that each fit into a task."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from small_tables import Writer, data_file, warehouse_catalog
from sqlext.commit.actions.append import AppendFiles
from sqlext.spark.bridge.scan_bridge import _STREAM_BYTES

FILES = 30_000
TABLE = "lake.db.orders"


def test_each_file_is_told_once_and_in_order(spark: SparkSession, warehouse: Path) -> None:
    spark.sql(f"DROP TABLE IF EXISTS {TABLE} PURGE")
    writer = Writer(warehouse_catalog(warehouse), seed=30)
    table = writer.create()
    one = data_file(table.metadata, [1])
    paths = [one.file_path.replace(".parquet", f"-{number:06}-{'x' * 100}.parquet") for number in range(FILES)]
    writer.commit(AppendFiles(tuple(replace(one, file_path=path) for path in paths)), base=table)
    for name, path in (("files", "file_path"), ("all_entries", "data_file.file_path")):
        rows = spark.table(f"{TABLE}.{name}").select(path)
        parts = rows.rdd.getNumPartitions()
        assert 1 < parts <= 2 + FILES * 1_500 // _STREAM_BYTES
        assert [found for (found,) in rows.collect()] == paths
    assert spark.table(f"{TABLE}.delete_files").count() == 0
    assert spark.table(f"{TABLE}.snapshots").rdd.getNumPartitions() == 1
    spark.sql(f"DROP TABLE {TABLE}")
