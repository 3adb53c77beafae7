"""The seeds that every run of the tests takes; more of them by `run.py`."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from simulator.seeds import shares, simulate_all
from simulator.simulation import simulate
from simulator.world import CatalogKind

SEEDS: Mapping[CatalogKind, int] = {"folder": 600, "sql": 200, "rest": 75}
_TRACE = "from simulator.simulation import simulate; print(simulate({seed}).told())"


# A simulation in which nothing happens proves nothing.
LEAST = {
    "folder": {"acknowledged": 1_200, "refused": 120, "killed": 60, "unknown": 3},
    "sql": {"acknowledged": 600, "refused": 120, "killed": 20},
    "rest": {"acknowledged": 150, "refused": 20, "killed": 2},
}


@pytest.mark.parametrize("catalog", SEEDS)
def test_no_seed_breaks_an_invariant(catalog: CatalogKind) -> None:
    # A fork of a process that has threads, as one with a JVM, may hang.
    context = multiprocessing.get_context("forkserver")
    counts: Counter[str] = Counter()
    simulate_share = partial(simulate_all, catalog=catalog)
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
        for found, broken in pool.map(simulate_share, shares(0, SEEDS[catalog])):
            again = f"python3 tests/simulator/run.py --catalog {catalog} --seed"
            assert not broken, f"{again} {broken[0][0]}: {broken[0][1]}"
            counts += found
    for outcome, least in LEAST[catalog].items():
        assert sum(count for kind, count in counts.items() if kind.endswith(outcome)) > least, counts


def test_a_seed_replays_exactly() -> None:
    """In a process that orders sets in another way, too."""
    for seed in (3, 19, 57):
        told = simulate(seed).told()
        assert simulate(seed).told() == told
        environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": os.pathsep.join(_paths())}
        command = [sys.executable, "-c", _TRACE.format(seed=seed)]
        for catalog in ("sql", "rest"):
            assert simulate(seed, catalog=catalog).told() == simulate(seed, catalog=catalog).told()
        elsewhere = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        assert elsewhere.stdout.splitlines() == told.splitlines()


def _paths() -> list[str]:
    tests = Path(__file__).resolve().parents[1]
    return [str(tests), str(tests.parent)]
