"""Streams that are killed with -9; more of them by `python3 tests/streaming/run.py --kills 100`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streaming.json_stream import write_file
from streaming.killed_routes import POINTS
from streaming.kills import KilledStreams

KILLS = 2


@pytest.mark.turns(1, pool="killed streams")
def test_killed_streams_write_each_row_once(spark: SparkSession, tmp_path: Path) -> None:
    streams = KilledStreams(spark, tmp_path, 7, ("log", "state"))
    streams.create_tables()
    for _ in range(KILLS):
        streams.run_and_kill()
    streams.run_to_the_end()
    streams.check()


@pytest.mark.turns(1, pool="killed streams")
def test_killed_streams_give_each_row_a_number_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    streams = KilledStreams(spark, tmp_path, 3, ("counted",))
    streams.create_tables()
    for fault in ("uncommitted", "committed"):
        streams.run_and_kill(fault)
    streams.run_to_the_end()
    streams.check()


@pytest.mark.turns(1, pool="killed streams")
def test_killed_streams_write_each_batch_to_all_tables_once(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.catalog.routed", "io.sqlext.Catalog")
    spark.conf.set("spark.sql.catalog.routed.warehouse", str(tmp_path / "warehouse"))
    spark.sql("CREATE NAMESPACE routed.db")
    spark.sql("CREATE TABLE routed.db.log (k INT, n INT)")
    merged = "TBLPROPERTIES ('merge-engine'='aggregation', 'fields.n.aggregate-function'='sum')"
    spark.sql(f"CREATE TABLE routed.db.sums (k INT, n INT, PRIMARY KEY (k)) {merged}")
    (tmp_path / "source").mkdir()
    for number in range(4):
        events = [{"kind": kind, "k": 1, "n": 10**number} for kind in ("log", "sums", "sums")]
        write_file(tmp_path / "source", number, events)
    process = [sys.executable, str(Path(__file__).with_name("killed_routes.py")), str(tmp_path / "warehouse")]
    for point, ends in (*((point, -9) for point in POINTS), ("-", 0)):
        # The second batch that it comes to, so that what the kill before it left is taken up first.
        command = [*process, str(tmp_path), point, "2"]
        assert subprocess.Popen(command, start_new_session=True, env=os.environ).wait(600) == ends
    log = sorted(row.n for row in spark.table("routed.db.log").collect())
    assert log == [1, 10, 100, 1000]
    assert [tuple(row) for row in spark.table("routed.db.sums").collect()] == [(1, 2222)]
