"""Options of DataFrame reads and writes do what Iceberg's do, or are refused; none is passed over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sqlext.storage.location import to_local_path


def test_a_writes_options_are_of_that_write(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    rows = spark.createDataFrame([(1,)], "id INT")
    rows.writeTo(table_name).option("compression-codec", "gzip").option("snapshot-property.run", "7").append()
    rows.writeTo(table_name).append()
    summaries = spark.sql(f"SELECT summary FROM {table_name}.snapshots ORDER BY committed_at").collect()
    assert [row.summary.get("run") for row in summaries] == ["7", None]
    files = spark.sql(f"SELECT file_path FROM {table_name}.files").collect()
    codecs = {pq.ParquetFile(to_local_path(row.file_path)).metadata.row_group(0).column(0).compression for row in files}
    assert codecs == {"GZIP", "ZSTD"}


def test_options_that_are_none_are_refused(spark: SparkSession, table_name: str, warehouse: Path) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    rows = spark.createDataFrame([(1,)], "id INT")
    folder = str(warehouse.joinpath(*table_name.split(".")[1:]))
    refused: dict[str, Any] = {
        "brunch": lambda: rows.writeTo(table_name).option("brunch", "b").append(),
        "isolation-level": lambda: rows.write.option("isolation-level", "snapshot").insertInto(table_name),
        "compression-codec": lambda: rows.writeTo(f"{table_name}_x").option("compression-codec", "gzip").create(),
        "snapshotid": lambda: spark.read.option("snapshotid", "1").table(table_name).collect(),
        "start-snapshot-id": lambda: spark.read.option("start-snapshot-id", "1").table(table_name).collect(),
        "branhc": lambda: spark.read.format("sqlext").option("branhc", "b").load(folder).collect(),
    }
    for name, act in refused.items():
        with pytest.raises(PySparkException, match=f"option {name} is refused"):
            act()
    assert spark.read.option("split-size", "1000").table(table_name).collect() == []


def test_a_writes_overwrite_and_tasks_are_of_that_write(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (day INT, id BIGINT) PARTITIONED BY (day)")
    rows = spark.range(0, 8, 1, 4).selectExpr("CAST(id % 2 AS INT) AS day", "id")
    rows.writeTo(table_name).option("write-parallelism", "1").append()
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"
    assert spark.table(f"{table_name}.files").count() == 2
    spark.createDataFrame([(1, 100), (5, 500)], "day INT, id BIGINT").write.option(
        "overwrite-enabled", "true"
    ).insertInto(table_name)
    assert sorted(row.id for row in spark.table(table_name).collect()) == [0, 2, 4, 6, 100, 500]
    with pytest.raises(PySparkException, match="option overwrite-enabled is refused"):
        rows.writeTo(table_name).option("overwrite-enabled", "false").overwritePartitions()


def test_a_cached_read_with_options_sees_what_is_written(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1)")
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH b")
    read = spark.read.option("branch", "b").table(table_name).cache()
    assert read.count() == 1
    spark.sql(f"INSERT INTO {table_name}.branch_b VALUES (2)")
    assert spark.read.option("branch", "b").table(table_name).count() == 2
    spark.sql(f"CACHE TABLE hinted AS SELECT * FROM {table_name} /*+ OPTIONS('branch'='b') */")
    spark.sql(f"INSERT INTO {table_name}.branch_b VALUES (3)")
    assert spark.sql(f"SELECT count(*) FROM {table_name} /*+ OPTIONS('branch'='b') */").collect() == [(3,)]
    spark.sql("UNCACHE TABLE hinted")
    read.unpersist()
