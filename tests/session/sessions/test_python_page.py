"""The examples of docs/python.md, which are those of the docstrings, run in order."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from python_reference import DOCS

TABLES = ("orders", "events", "newest_events")


@pytest.fixture
def own_tables(spark: SparkSession) -> None:
    for name in TABLES:
        spark.sql(f"DROP TABLE IF EXISTS lake.db.{name} PURGE")


@pytest.mark.usefixtures("own_tables")
def test_the_examples_run(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    globs = {"spark": spark}
    failed, tried = doctest.testfile(str(DOCS), module_relative=False, globs=globs, optionflags=doctest.ELLIPSIS)
    assert tried > 30
    assert failed == 0
    for name in TABLES:
        spark.sql(f"DROP TABLE lake.db.{name} PURGE")
