"""Random sequences of statements against a plain model: `python3 tests/fuzz/run.py --count 500 --seed 1`.

Sequence number n of a run has the seed `seed + n`, so any one is made again by `--count 1 --seed <its seed>`.
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

from fuzz.differential import STATEMENTS, Difference, Differential
from judges.iceberg import IcebergJudge
from sessions import open_session


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40)
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
        differential = Differential(spark, judge)
        for number in range(seed, seed + given.count):
            try:
                differential.run(number, given.statements)
            except Difference as error:
                failed.append(number)
                print(f"{error}\n", flush=True)
        judge.close()
        spark.stop()
    for reason, count in differential.alone.most_common():
        print(f"without Iceberg's twin, {reason}: {count}")
    print(f"{given.count} sequences in {time.monotonic() - started:.0f} s, {len(failed)} wrong: {failed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
