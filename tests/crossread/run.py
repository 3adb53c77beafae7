"""Random tables read by every engine: `python3 tests/crossread/run.py --count 300 --seed 1`.

Table number n of a run has the seed `seed + n`, so any one is made again by `--count 1 --seed <its seed>`.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, ".ci"), os.path.join(ROOT, "tests"), ROOT]

import environment

environment.enter("test")

os.environ.setdefault("POLARS_ICEBERG_PLANNER", "pyiceberg")

from crossread.crossreading import STATEMENTS, CrossReading, Disagreement
from judges.iceberg import IcebergJudge
from sessions import open_session


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--statements", type=int, default=STATEMENTS)
    given = parser.parse_args()
    seed = random.randrange(1 << 30) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    started = time.monotonic()
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        warehouse = Path(folder).resolve()
        spark = open_session(warehouse)
        spark.sql("CREATE NAMESPACE lake.db")
        judge = IcebergJudge(warehouse)
        reading = CrossReading(spark, judge, warehouse)
        for number in range(seed, seed + given.count):
            try:
                reading.run(number, given.statements)
            except Disagreement as error:
                failed.append(number)
                print(f"{error}\n", flush=True)
        judge.close()
        spark.stop()
    for what, count in sorted(reading.read.items()):
        print(f"compared with {what}: {count}")
    for reason, count in reading.skipped.most_common():
        print(f"skipped, {reason}: {count}")
    print(f"{given.count} tables in {time.monotonic() - started:.0f} s, {len(failed)} wrong: {failed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
