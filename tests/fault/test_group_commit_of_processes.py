"""Processes that commit together and are killed, the one that commits among them: every change is there once, or its
process has died with it."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fault.catalogs import CATALOGS, catalog_options
from fault.grouped_process import (
    GroupedProcess,
    serve_and_be_killed,
    serve_fork_and_be_killed,
    write_together_until_killed,
)
from fault.writing_process import TABLE, LocalProcess, kill_after, kill_before, processes
from simulator.statements import Change, Create
from small_tables import serves

# The soak has more.
KILLS = int(os.environ.get("SQLEXT_KILLS", "5"))
WRITERS = 5


@pytest.fixture
def runtime() -> Iterator[Path]:
    """Short enough for a socket's name."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _made(options: Mapping[str, str]) -> LocalProcess:
    process = LocalProcess(options).with_namespace()
    assert process.run(Create("s", TABLE)) == "acknowledged"
    return process


@pytest.mark.parametrize("befalls", [kill_before, kill_after])
@pytest.mark.parametrize("point", ["manifest", "manifest list", "compare-and-swap", "hint"])
def test_the_process_that_commits_dies_at_a_fault_point(
    tmp_path: Path, runtime: Path, point: str, befalls: Any
) -> None:
    options = {"warehouse": str(tmp_path)}
    process = _made(options)
    ready = processes.Event()
    serving = processes.Process(target=serve_and_be_killed, args=(tmp_path, runtime, point, befalls, ready))
    serving.start()
    assert ready.wait(60)
    client = GroupedProcess(options, runtime, "client")
    for number, kind in enumerate(("append", "upsert"), 2):
        client.change(Change(f"{number}", TABLE, kind=kind, ids=frozenset((number,))))
    serving.join(60)
    assert serving.exitcode == -signal.SIGKILL
    assert serves(client.committer)
    client.committer.close()
    assert process.rows(Change("r", TABLE)) == Counter([(1, "first"), (2, "2"), (3, "3")])


def test_a_child_that_outlives_the_process_that_commits_keeps_nobody_waiting(tmp_path: Path, runtime: Path) -> None:
    options = {"warehouse": str(tmp_path)}
    process = _made(options)
    receiver, sender = processes.Pipe(duplex=False)
    serving = processes.Process(target=serve_fork_and_be_killed, args=(tmp_path, runtime, sender))
    serving.start()
    child = receiver.recv()
    try:
        serving.join(60)
        client = GroupedProcess(options, runtime, "client")
        client.change(Change("second", TABLE, kind="append", ids=frozenset((2,))))
        assert serves(client.committer)
        client.committer.close()
    finally:
        os.kill(child, signal.SIGKILL)
    assert process.rows(Change("r", TABLE)) == Counter([(1, "first"), (2, "second")])


@pytest.mark.parametrize("catalog", ["folder", *(pytest.param(name, marks=pytest.mark.long) for name in CATALOGS[1:])])
def test_processes_killed_at_random(
    tmp_path: Path, runtime: Path, catalog: str, request: pytest.FixtureRequest
) -> None:
    options = catalog_options(catalog, tmp_path, request)
    process = _made(options)
    rng = random.Random(f"{catalog} {KILLS}")
    acknowledged: set[str] = set()
    begun: set[str] = set()
    living: list[tuple[Any, Any]] = []

    def start(run: int) -> None:
        receiver, sender = processes.Pipe(duplex=False)
        child = processes.Process(target=write_together_until_killed, args=(options, runtime, run, sender))
        child.start()
        sender.close()
        begun.add(receiver.recv())
        living.append((child, receiver))

    def kill(number: int) -> None:
        child, receiver = living.pop(number)
        assert child.is_alive(), "a writer has ended by itself"
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        _take(receiver, begun, acknowledged)

    for run in range(WRITERS):
        start(run)
    for run in range(KILLS):
        time.sleep(rng.uniform(0.05, 0.4))
        # The oldest is the one that commits, most often.
        kill(0 if rng.random() < 0.6 else rng.randrange(len(living)))
        start(WRITERS + run)
    # Whoever commits by now, nobody is kept waiting.
    last = GroupedProcess(options, runtime, "last")
    last.change(Change("last", TABLE, kind="append", ids=frozenset((1,))))
    last.committer.close()
    begun.add("last")
    acknowledged.add("last")
    while living:
        kill(0)
    found = process.rows(Change("r", TABLE))
    assert found is not None
    texts = Counter(text for _, text in found.elements())
    assert not [text for text, count in texts.items() if count > 1]
    assert acknowledged <= texts.keys() <= begun
    assert len(acknowledged) > 1
    assert process.run(Change("end", TABLE, kind="append", ids=frozenset((1,)))) == "acknowledged"


def _take(receiver: Any, begun: set[str], acknowledged: set[str]) -> None:
    """What a child said before it was killed: each name when it begins and once more when it has landed."""
    try:
        while True:
            name = receiver.recv()
            (acknowledged if name in begun else begun).add(name)
    except (EOFError, OSError):
        return
