"""A user's Ctrl-C, and a machine that goes down: what was acknowledged is there, nothing is half there."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession

from small_tables import files_below

PROCESS = Path(__file__).with_name("writing_process.py")
KILLS = 5


def _start(warehouse: Path, what: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(PROCESS), str(warehouse), what]
    errors = (warehouse.parent / "errors.txt").open("w")
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True)


def _said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_ctrl_c_in_a_long_write(spark: SparkSession, tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    process = _start(warehouse, "long")
    assert (_said(process), _said(process)) == ("ready", "writing")
    data, before = warehouse / "db/t/data", files_below(warehouse)
    while not (data.exists() and any(data.iterdir())):
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    assert (_said(process), _said(process)) == ("OPERATION_CANCELED", "0")
    assert process.wait(60) == 0

    assert files_below(warehouse) == before
    assert spark.read.format("sqlext").load(str(warehouse / "db/t")).count() == 0
    errors = (tmp_path / "errors.txt").read_text()
    assert not [trace for trace in ("Exception", "py4j", "sqlext") if trace in errors], errors


def test_kill_9_at_any_time(spark: SparkSession, tmp_path: Path) -> None:
    warehouse, rng = tmp_path / "warehouse", random.Random(3)
    acknowledged: set[int] = set()
    for kill in range(1, KILLS + 1):
        process = _start(warehouse, "loop")
        assert _said(process) == "ready"
        acknowledged.add(int(_said(process)))
        time.sleep(rng.uniform(0, 1.5))
        os.killpg(process.pid, signal.SIGKILL)
        assert process.stdout is not None
        acknowledged.update(int(line) for line in process.stdout.read().split("\n")[:-1])
        process.wait()

        rows = Counter(row.id for row in spark.read.format("sqlext").load(str(warehouse / "db/t")).collect())
        assert set(rows.values()) == {2}, "part of a statement"
        assert acknowledged <= set(rows)
        assert len(set(rows) - acknowledged) <= kill, "at most one statement a kill was not acknowledged"
