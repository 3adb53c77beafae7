"""Runs the golden inputs under other ways to write a change: `python3 tests/golden/run_strategies.py [name …]`.

The names are those of `golden.strategies`. It prints what differs from the recorded results, and exits with 1 if
anything does.
"""

import os
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, ".ci"), os.path.join(ROOT, "tests")]

import environment

environment.enter("test")

from pathlib import Path

from golden.strategies import BY_FORCE, STRATEGIES, areas_of, differences
from sessions import open_session


def main() -> None:
    names = sys.argv[1:] or [*STRATEGIES, *BY_FORCE]
    unequal = 0
    with tempfile.TemporaryDirectory(prefix="sqlext-strategies-") as temporary:
        root = Path(temporary).resolve()
        spark = open_session(root / "lake")
        for name in names:
            for area in areas_of(name):
                started = time.monotonic()
                found = differences(spark, root / name, name, area)
                unequal += len(found)
                print(f"{name}: {area}: {len(found)} different, {time.monotonic() - started:.0f} s", flush=True)
                for difference in found:
                    print(difference, flush=True)
        spark.stop()
    sys.exit(1 if unequal else 0)


if __name__ == "__main__":
    main()
