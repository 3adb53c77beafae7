"""Tasks of a scan have as much to read as one another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sqlext.storage.location import to_local_path


@pytest.fixture
def open_cost(spark: SparkSession) -> Iterator[Callable[[int], None]]:
    """Sets what the opening of a file counts for, in bytes, where two tasks are wanted."""
    spark.conf.set("spark.sql.files.minPartitionNum", "2")
    yield lambda size: spark.conf.set("spark.sql.files.openCostInBytes", str(size))
    spark.conf.unset("spark.sql.files.minPartitionNum")
    spark.conf.unset("spark.sql.files.openCostInBytes")


def test_large_files_are_not_one_tasks_while_others_have_the_small_ones(
    spark: SparkSession, table_name: str, open_cost: Callable[[int], None]
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, n DOUBLE)")
    for rows in (20_000, 20_000, *[10] * 8):
        spark.sql(f"INSERT INTO {table_name} SELECT id, rand() FROM range(0, {rows}, 1, 1)")
    files = [to_local_path(row.file_path) for row in spark.table(f"{table_name}.files").collect()]
    open_cost(max(Path(file).stat().st_size for file in files))
    counted = spark.sql(f"SELECT count(*) AS n FROM {table_name} GROUP BY spark_partition_id()").collect()
    assert [row.n for row in counted] == [20_040, 20_040]
