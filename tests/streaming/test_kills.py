"""Streams that are killed with -9; more of them by `python3 tests/streaming/run.py --kills 100`."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from streaming.kills import KilledStreams

KILLS = 10


def test_killed_streams_write_each_row_once(spark: SparkSession, tmp_path: Path) -> None:
    streams = KilledStreams(tmp_path, seed=7)
    streams.create_tables(spark)
    for _ in range(KILLS):
        streams.run_and_kill()
    streams.run_to_the_end()
    streams.check(spark)
