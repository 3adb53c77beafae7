"""Random interleavings of random statements with faults: `python3 tests/simulator/run.py [--seeds N] [--first N]`.

`--catalog sql` keeps the tables in a database, `--catalog rest` behind a REST server. `--seed N`
replays one and prints its steps.
"""

import argparse
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, ".ci"), os.path.join(ROOT, "tests"), ROOT]

import environment

environment.enter("test")

from simulator.seeds import shares, simulate_all
from simulator.simulation import simulate


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--catalog", choices=("folder", "sql", "rest"), default="folder")
    parser.add_argument("--seeds", type=int, default=5_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, help="replay this one")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    given = parser.parse_args()
    if given.seed is not None:
        outcome = simulate(given.seed, catalog=given.catalog)
        print(outcome.told())
        return 0 if outcome.violation is None else 1
    started = time.monotonic()
    counts: Counter[str] = Counter()
    broken: list[tuple[int, str]] = []
    with ProcessPoolExecutor(given.processes) as pool:
        for found, violations in pool.map(
            partial(simulate_all, catalog=given.catalog), shares(given.first, given.seeds)
        ):
            counts += found
            broken += violations
    for kind, count in sorted(counts.items()):
        print(f"{count:8} {kind}")
    for seed, violation in broken:
        print(f"seed {seed}: {violation[:300]}")
    print(f"{given.seeds} seeds, {len(broken)} broken, {time.monotonic() - started:.0f} s")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
