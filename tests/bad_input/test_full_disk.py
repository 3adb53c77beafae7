"""A store that runs out of room in the middle of a write."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bad_input.refusals import MANY_ROWS, nothing_left, refused, table_folder

# Random text, so that no codec makes it fit.
FEW_ROWS = "SELECT id, uuid() AS a, uuid() AS b, uuid() AS c FROM range(100000)"
ROWS = {"driver": FEW_ROWS, "executors": FEW_ROWS.replace("100000", str(MANY_ROWS))}


@pytest.fixture
def small_disk(spark: SparkSession, warehouse: Path) -> Iterator[Path]:
    """A namespace `lake.small` on a file system of 3 MB."""
    folder = warehouse / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        folder.rmdir()
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)
    folder.rmdir()


@pytest.mark.parametrize("path", list(ROWS))
def test_disk_that_fills_up(spark: SparkSession, small_disk: Path, path: str) -> None:
    spark.sql("CREATE TABLE lake.small.t (id BIGINT, a STRING, b STRING, c STRING)")
    spark.sql("INSERT INTO lake.small.t VALUES (1, 'a', 'b', 'c')")
    with nothing_left(small_disk):
        message = refused("STORAGE_FAILURE", lambda: spark.sql(f"INSERT INTO lake.small.t {ROWS[path]}"))
        refused("STORAGE_FAILURE", lambda: spark.sql(f"CREATE TABLE lake.small.u AS {ROWS[path]}"))
    assert "No space left" in message
    assert not (small_disk / "u").exists()
    spark.sql("INSERT INTO lake.small.t VALUES (2, 'a', 'b', 'c')")
    assert spark.table("lake.small.t").count() == 2


def test_limit_on_the_size_of_a_file(spark: SparkSession, warehouse: Path, table_name: str) -> None:
    """Needs no root: the driver's own limit stops its write."""
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, a STRING, b STRING, c STRING)")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with nothing_left(table_folder(warehouse, table_name)):
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
        try:
            message = refused("STORAGE_FAILURE", lambda: spark.sql(f"INSERT INTO {table_name} {FEW_ROWS}"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "File too large" in message
