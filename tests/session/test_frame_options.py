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
