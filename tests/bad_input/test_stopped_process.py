"""A user's Ctrl-C, and a machine that goes down: what was acknowledged is there, nothing is half there."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from pyroaring import BitMap64
from pyspark.sql import SparkSession

import sqlext
from small_tables import (
    Writer,
    files_below,
    ids_read_by_pyiceberg,
    position_deletes,
    rows_of,
    summary_of,
    warehouse_catalog,
)
from sqlext.commit.actions.delete_file_rewrite import RewriteDeleteFiles
from sqlext.commit.snapshot.deletion_vectors import DeletedRows
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.scan_plan import plan_scan
from sqlext.spec.expression import AlwaysTrue
from sqlext.storage.file_io import LocalFileIO

PROCESS = Path(__file__).with_name("writing_process.py")
CONVERTING_PROCESS = Path(__file__).with_name("converting_process.py")
KILLS = int(os.environ.get("SQLEXT_KILLS", "2"))


def _start(warehouse: Path, what: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(PROCESS), str(warehouse), what]
    errors = (warehouse.parent / "errors.txt").open("w")
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True)


def _said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.turns(1, pool="stopped processes")
def test_ctrl_c_in_a_long_write(spark: SparkSession, tmp_path: Path, shown_error: Callable[[str, str], None]) -> None:
    warehouse = tmp_path / "warehouse"
    process = _start(warehouse, "long")
    assert (_said(process), _said(process)) == ("ready", "writing")
    data, before = warehouse / "db/t/data", files_below(warehouse)
    while not (data.exists() and any(data.iterdir())):
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    refused, rows = _said(process), _said(process)
    assert (refused.partition(" ")[0], rows) == ("[OPERATION_CANCELED]", "0")
    shown_error("OPERATION_CANCELED", refused)
    assert process.wait(60) == 0

    assert files_below(warehouse) == before
    assert spark.read.format("sqlext").load(str(warehouse / "db/t")).count() == 0
    errors = (tmp_path / "errors.txt").read_text()
    # PySpark's own workers may tell that they were stopped.
    ours = str(Path(sqlext.__file__).parent)
    assert not [trace for trace in ("Exception", "py4j", ours) if trace in errors], errors


@pytest.mark.turns(1, pool="stopped processes")
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


@pytest.mark.turns(1, pool="stopped processes")
def test_kill_9_at_each_file_of_a_conversion_of_equality_deletes(tmp_path: Path) -> None:
    """The rows are those before, whoever looks, and the next conversion does what is left."""
    command = [sys.executable, str(CONVERTING_PROCESS), str(tmp_path)]
    told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, start_new_session=True).stdout
    outcomes = dict(line.split() for line in told.splitlines())
    converted: Counter[str] = Counter()
    for name, outcome in outcomes.items():
        writer = Writer(warehouse_catalog(tmp_path / name))
        table = writer.load()
        assert sorted(row["id"] for row in rows_of(table)) == [1, 3, 5], name
        landed = summary_of(table)["total-equality-deletes"] == "0"
        assert landed or outcome == "killed", name
        converted[f"{name[:-2]} {landed}"] += 1
        if not landed:
            table = writer.commit(_conversion(writer), base=table).table
        assert ids_read_by_pyiceberg(table) == [1, 3, 5], name
    # before each of four files and more, and in the end; after the last of them it had landed
    assert all(converted[f"{version}-before False"] >= 4 for version in (2, 3)), outcomes
    assert all(converted[f"{version}-before True"] == 1 for version in (2, 3)), outcomes
    assert all(converted[f"{version}-after True"] >= 2 for version in (2, 3)), outcomes


def _conversion(writer: Writer) -> RewriteDeleteFiles:
    """Of the one equality delete, which hits the second row of a file."""
    metadata = writer.load().metadata
    snapshot = metadata.current_snapshot()
    assert snapshot is not None
    plan = plan_scan(LocalFileIO(), metadata, snapshot, AlwaysTrue(), manifests=ManifestCache())
    (group,) = plan.equality_groups
    (hit,) = (task.file for task in plan.tasks if task.equality_groups)
    deletes = tuple(delete.file for delete in group.files)
    if metadata.format_version == 3:
        rows = {hit.file_path: DeletedRows(hit.spec_id, hit.partition, BitMap64([1]))}
        return RewriteDeleteFiles(
            deletes, snapshot.snapshot_id, deleted_rows=rows, referenced_data_files=frozenset(rows)
        )
    positions = position_deletes(metadata, hit, (1,))
    paths = frozenset({hit.file_path})
    return RewriteDeleteFiles(deletes, snapshot.snapshot_id, (positions,), referenced_data_files=paths)
