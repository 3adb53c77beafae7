"""Processes killed at random: what they have acknowledged is there, once, and nothing else but what was under way."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fault.catalogs import CATALOGS, catalog_options
from fault.writing_process import TABLE, LocalProcess, processes, write_until_killed
from simulator.statements import Change, Create

# The soak runs more.
RUNS = int(os.environ.get("SQLEXT_KILLS", "20"))
RUNS_ON_POSTGRES = int(os.environ.get("SQLEXT_KILLS", "12"))


@pytest.mark.turns(1)
@pytest.mark.parametrize("catalog", CATALOGS)
def test_processes_killed_at_random(tmp_path: Path, catalog: str, request: pytest.FixtureRequest) -> None:
    options = catalog_options(catalog, tmp_path, request)
    rng = random.Random(f"{catalog} {RUNS}")
    process = LocalProcess(options).with_namespace()
    properties = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "3"}
    assert process.run(Create("s", TABLE, properties=properties)) == "acknowledged"
    acknowledged: set[str] = set()
    begun: set[str] = set()
    for run in range(RUNS_ON_POSTGRES if catalog == "postgres" else RUNS):
        receiver, sender = processes.Pipe(duplex=False)
        child = processes.Process(target=write_until_killed, args=(options, run, sender))
        child.start()
        sender.close()
        begun.add(receiver.recv())
        time.sleep(rng.uniform(0, 0.06))
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        _take(receiver, begun, acknowledged)
    found = process.rows(Change("r", TABLE))
    assert found is not None
    texts = Counter(text for _, text in found.elements())
    assert not [text for text, count in texts.items() if count > 1]
    assert acknowledged <= texts.keys() <= begun
    assert process.run(Change("end", TABLE, kind="append", ids=frozenset((1,)))) == "acknowledged"


def _take(receiver: Any, begun: set[str], acknowledged: set[str]) -> None:
    """What a child said before it was killed: each name when it begins and once more when it has landed."""
    try:
        while True:
            name = receiver.recv()
            (acknowledged if name in begun else begun).add(name)
    except (EOFError, OSError):
        return
