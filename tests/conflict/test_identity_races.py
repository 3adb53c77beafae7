"""Real processes write one table with an identity column: no value is given twice, and nobody gives up."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Iterator
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

import sqlext.local
from catalog.rest_server import RestServer
from sqlext.local import LocalCatalog

PROCESSES = 6
WRITES = 5
TABLE = "db.t"

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["sqlext.local"])


def _open(place: str, warehouse: str) -> LocalCatalog:
    in_database = {"warehouse": warehouse} if place.startswith("sqlite:") else {}
    lake = sqlext.local.open(place, {"care": "none", **in_database})
    assert isinstance(lake, LocalCatalog)
    return lake


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a catalog of the kind that a test names is opened."""
    if request.param == "rest":
        server = RestServer(tmp_path)
        yield server.uri
        server.stop()
    else:
        yield str(tmp_path / "lake") if request.param == "folder" else f"sqlite:///{tmp_path / 'lake.db'}"


def _write(place: str, warehouse: str, process: int, start: Barrier, results: Queue[Any]) -> None:
    table = _open(place, warehouse).table(TABLE)
    start.wait()
    try:
        for number in range(WRITES):
            rows = [{"name": f"{process}-{number}-{row}"} for row in range(1 + process % 3)]
            if number % 3 == 2:
                table.upsert(rows)
            else:
                table.append(rows)
        results.put(None)
    except BaseException as failure:
        results.put(repr(failure))


@pytest.mark.parametrize(("place", "version"), [("folder", "2"), ("sqlite", "3"), ("rest", "2")], indirect=["place"])
def test_processes_give_each_value_once(tmp_path: Path, place: str, version: str) -> None:
    lake = _open(place, str(tmp_path))
    lake.create_namespace("db")
    # Behind a REST server nothing is reserved, so a statement may lose any number of races.
    reruns = 1000 if place.startswith("http") else 3
    table = lake.create_table(
        f"CREATE TABLE {TABLE} (id BIGINT GENERATED ALWAYS AS IDENTITY, name STRING, PRIMARY KEY (name))"
        f" TBLPROPERTIES ('format-version'='{version}', 'write.conflict.max-reruns'='{reruns}')"
    )
    start, results = _context.Barrier(PROCESSES), _context.Queue()
    processes = [
        _context.Process(target=_write, args=(place, str(tmp_path), n, start, results)) for n in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    assert [results.get(timeout=120) for _ in processes] == [None] * PROCESSES
    for process in processes:
        process.join(60)
    found = table.to_arrow()
    assert found.num_rows == sum(WRITES * (1 + n % 3) for n in range(PROCESSES))
    repeated = [id for id, count in Counter(found.column("id").to_pylist()).items() if count > 1]
    assert not repeated
    # What a statement gives before it loses a race is left out at most twice: as given, and as reserved.
    assert max(found.column("id").to_pylist()) <= 3 * found.num_rows
