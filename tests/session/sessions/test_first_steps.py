"""The examples of docs/first-steps.md run, in order."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

PAGE = Path(__file__).resolve().parents[3] / "docs" / "first-steps.md"


def test_the_examples_run(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tried > 20
    assert failed == 0
    spark.sql("DROP TABLE store.db.orders PURGE")
