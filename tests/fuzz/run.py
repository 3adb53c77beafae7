"""Random sequences of statements against a plain model: `python3 tests/fuzz/run.py --count 500 --seed 1`.

Sequence number n of a run has the seed `seed + n`, so any one is made again by `--count 1 --seed <its seed>`, and a run
that was stopped goes on behind the last seed that it printed.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, ".ci"), os.path.join(ROOT, "tests"), ROOT]

import environment

environment.enter("test")

from fuzz.differential import FEW_ROWS, PLANS, STATEMENTS, Difference, Differential, few_rows
from judges.iceberg import IcebergJudge
from sessions import open_session

BLOCK = 10
# of each three blocks one runs with compiled queries
COMPILED = 3
# of each four blocks one reads files by rows
BY_ROW = 4
AT_A_TIME = 2


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--statements", type=int, default=STATEMENTS)
    given = parser.parse_args()
    seed = random.randrange(1 << 30) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    started = time.monotonic()
    failed: list[int] = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(AT_A_TIME) as pool:
        warehouse = Path(folder).resolve()
        spark = open_session(warehouse)
        spark.sql("CREATE NAMESPACE lake.db")
        judge = IcebergJudge(warehouse)
        for name, value in FEW_ROWS.items():
            judge.sql(f"SET {name}={value}")
        differential = Differential(spark, judge)

        def run(number: int) -> None:
            try:
                differential.run(number, given.statements)
            except Difference as error:
                failed.append(number)
                print(f"{error}\n", flush=True)

        for first in range(seed, seed + given.count, BLOCK):
            numbers = range(first, min(first + BLOCK, seed + given.count))
            block = first // BLOCK
            forced, by_row = PLANS[block % len(PLANS)], block % BY_ROW == 1
            with few_rows(spark, compiled=block % COMPILED == 0, forced=forced, by_row=by_row):
                list(pool.map(run, numbers))
            passed = time.monotonic() - started
            print(f"{numbers[-1] - seed + 1} sequences to {numbers[-1]} in {passed:.0f} s, wrong: {failed}", flush=True)
        judge.close()
        spark.stop()
    for reason, count in differential.alone.most_common():
        print(f"without Iceberg's twin, {reason}: {count}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
