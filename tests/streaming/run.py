"""Streams that are killed with -9 at random points: `python3 tests/streaming/run.py --kills 100 --seed 1`.

After every ten kills the streams run to their end and the tables are compared with the model; the next ten have a
warehouse of their own.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, ".ci"), os.path.join(ROOT, "tests"), ROOT]

import environment

environment.enter("test")

from sessions import open_session
from streaming.kills import KilledStreams

KILLS_A_WAREHOUSE = 10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(0, given.kills, KILLS_A_WAREHOUSE):
            spark = open_session(Path(folder, "session"))
            streams = KilledStreams(spark, Path(folder, str(number)), given.seed + number)
            streams.create_tables()
            for _ in range(min(KILLS_A_WAREHOUSE, given.kills - number)):
                streams.run_and_kill()
            streams.run_to_the_end()
            streams.check()
            told = f"{dict(streams.kills)}, in between {dict(streams.in_between)}"
            print(f"seed {given.seed + number}: every row once after {told}", flush=True)
            spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
