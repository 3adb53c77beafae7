"""Real processes race for one table: nothing is lost, nobody gives up, one creator wins."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Callable
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from small_tables import (
    ORDERS,
    Writer,
    data_file,
    files_below,
    ids_read_by_pyiceberg,
    summary_of,
    warehouse_catalog,
)
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.loop.transaction import commit
from sqlext.errors import AlreadyExistsError

PROCESSES = 8
APPENDS = 6

# A fork of a process that has threads may hang, and importing everything eight times over takes longer than the race.
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["small_tables"])


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _append(folder: Path, process: int, start: Barrier, results: Queue[Any]) -> None:
    catalog, rng = warehouse_catalog(folder), random.Random(process)
    start.wait()
    attempts = []
    for number in range(APPENDS):
        base = catalog.load_table(ORDERS)
        file = data_file(base.metadata, [process * APPENDS + number])
        outcome = commit(catalog, ORDERS, AppendFiles((file,)), base=base, clock=_now_ms, rng=rng)
        attempts.append(outcome.attempts)
    results.put(attempts)


def _create(folder: Path, process: int, start: Barrier, results: Queue[Any]) -> None:
    writer = Writer(warehouse_catalog(folder), seed=process)
    start.wait()
    try:
        results.put(writer.create().metadata.table_uuid)
    except AlreadyExistsError:
        results.put("exists")


def _run(target: Callable[..., None], folder: Path) -> list[Any]:
    start, results = _context.Barrier(PROCESSES), _context.Queue()
    processes = [_context.Process(target=target, args=(folder, n, start, results)) for n in range(PROCESSES)]
    for process in processes:
        process.start()
    answers = [results.get(timeout=60) for _ in processes]
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * PROCESSES
    return answers


def test_eight_processes_append_and_nothing_is_lost(tmp_path: Path) -> None:
    writer = Writer(warehouse_catalog(tmp_path))
    writer.create()

    attempts = _run(_append, tmp_path)

    table = writer.load()
    commits = PROCESSES * APPENDS
    assert ids_read_by_pyiceberg(table) == list(range(commits))
    assert sum(map(len, attempts)) == commits
    assert len(table.metadata.snapshots) == commits
    assert [one.sequence_number for one in table.metadata.snapshots] == list(range(1, commits + 1))
    assert summary_of(table)["total-data-files"] == summary_of(table)["total-records"] == str(commits)
    # one manifest, one manifest list and one metadata file a commit, the first metadata file, and the hint
    assert len(files_below(tmp_path / "db/orders/metadata")) == 3 * commits + 2


def test_of_eight_creators_one_wins(tmp_path: Path) -> None:
    answers = _run(_create, tmp_path)

    winners = [answer for answer in answers if answer != "exists"]
    assert winners == [warehouse_catalog(tmp_path).load_table(ORDERS).metadata.table_uuid]
