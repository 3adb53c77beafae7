"""Twenty random tables that sqlext and Iceberg's runtime make in turns are the same to every reader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from crossread.crossreading import CrossReading
from judges.iceberg import IcebergJudge

SEEDS = range(1, 21)


@pytest.fixture(scope="module")
def reading(spark: SparkSession, iceberg: IcebergJudge, warehouse: Path) -> Iterator[CrossReading]:
    reading = CrossReading(spark, iceberg, warehouse)
    yield reading
    for reason, count in reading.skipped.most_common():
        print(f"skipped, {reason}: {count}")


@pytest.mark.turns(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_table(reading: CrossReading, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setenv("POLARS_ICEBERG_PLANNER", "pyiceberg")
    reading.run(seed)


def test_every_reader_had_its_turn(reading: CrossReading) -> None:
    """A reader that goes along with no table would be silent about all of them; of the few tables of a day it may go
    along with none, and then it has said why of each."""
    for name in ("Iceberg", "PyIceberg", "Polars", "DuckDB"):
        left_out = sum(count for reason, count in reading.skipped.items() if reason.startswith(f"{name}: "))
        assert reading.read[name] + left_out >= reading.tables > 0, (name, reading.skipped)
        assert reading.read[name] or reading.tables < len(SEEDS), (name, reading.skipped)
