"""Rewrites the golden results: `python3 tests/golden/regenerate.py [area ...]`. Read the diff before you commit it."""

import os
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, ".ci"), os.path.join(ROOT, "tests")]

import environment

environment.enter("test")

from pathlib import Path

from golden.runner import RESULTS, area_names, run_area
from sessions import open_session


def main() -> None:
    unknown = set(sys.argv[1:]) - set(area_names())
    if unknown:
        sys.exit(f"no such area: {', '.join(sorted(unknown))}; there are {', '.join(area_names())}")
    with tempfile.TemporaryDirectory(prefix="sqlext-golden-") as folder:
        warehouse = Path(folder).resolve()
        spark = open_session(warehouse)
        for area in sys.argv[1:] or area_names():
            started = time.monotonic()
            (RESULTS / f"{area}.out").write_text(run_area(spark, warehouse, area))
            print(f"{area}: {time.monotonic() - started:.1f} s", flush=True)
        spark.stop()


if __name__ == "__main__":
    main()
