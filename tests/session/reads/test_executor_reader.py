"""Manifests that Spark's executors read."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sqlext.errors import NotFoundError
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.filter.file_filter import FileFilter
from sqlext.spark.scan.executor_reader import ExecutorReader
from sqlext.spec.expression import Comparison
from sqlext.spec.manifests.manifest import ManifestEntry
from sqlext.storage.file_io import LocalFileIO
from unit.scan.small_table import SCHEMA, SmallTable, added, bounds, data_file


@pytest.fixture
def table(tmp_path: Path) -> SmallTable:
    made = SmallTable(tmp_path)
    for name in ("a.avro", "b.avro", "c.avro"):
        made.add_manifest(name, [added(data_file(f"{name}-{n}", **bounds(n, n))) for n in range(80)], 1)
    return made


def found(table: SmallTable, cache: ManifestCache) -> list[ManifestEntry]:
    files = FileFilter(Comparison("<", 1, 5), schema=SCHEMA, specs=table.metadata.specs_by_id())
    return cache.matching_entries(LocalFileIO(), table.manifests, table.metadata, files)


def test_executors_find_what_the_driver_does(spark: SparkSession, table: SmallTable) -> None:
    far = ManifestCache(elsewhere=ExecutorReader(spark.sparkContext), driver_bytes=0)
    entries = found(table, far)
    assert [entry.file.file_path for entry in entries] == [f"{m}.avro-{n}" for m in "abc" for n in range(5)]
    assert entries == found(table, ManifestCache())


def test_an_error_on_an_executor_is_that_of_the_driver(spark: SparkSession, table: SmallTable, tmp_path: Path) -> None:
    (tmp_path / "b.avro").unlink()
    with pytest.raises(NotFoundError, match=r"FILE_NOT_FOUND.*b\.avro"):
        found(table, ManifestCache(elsewhere=ExecutorReader(spark.sparkContext), driver_bytes=0))
