"""Runs the golden inputs under other ways to write a change: `python3 tests/golden/run_strategies.py [name …]`.

The names are those of `golden.strategies`. It prints what differs from the recorded results, and exits with 1 if
anything does.
"""

import os
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, ".ci"), os.path.join(ROOT, "tests")]

import environment

environment.enter("test")

from pathlib import Path

from golden.strategies import AREAS, STRATEGIES, answers, recorded, run_as
from sessions import open_session


def main() -> None:
    names = sys.argv[1:] or list(STRATEGIES)
    unequal = 0
    with tempfile.TemporaryDirectory(prefix="sqlext-strategies-") as temporary:
        root = Path(temporary).resolve()
        spark = open_session(root / "lake")
        for name in names:
            for area in AREAS:
                got, wanted = answers(run_as(spark, root / name, name, area)), answers(recorded(area))
                different = [(text, a, b) for (text, a), (_, b) in zip(got, wanted, strict=True) if a != b]
                unequal += len(different)
                print(f"{name}: {area}: {len(got)} statements, {len(different)} different", flush=True)
                for text, a, b in different:
                    print(f"{text}\n  got    {a}\n  wanted {b}", flush=True)
        spark.stop()
    sys.exit(1 if unequal else 0)


if __name__ == "__main__":
    main()
