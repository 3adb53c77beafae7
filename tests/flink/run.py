"""The real Flink sink beside sqlext's stream: `python3 tests/flink/run.py [--seed 1] [--steps 6] [--variants 8]`.

Flink comes from PyPI and Maven, into build/flink. Each variant of a table gets a change log by seed: through Flink's
sink, through sqlext's stream, and through Flink, sqlext and Flink again in one table. All are compared with the model,
as sqlext, Flink, Iceberg's Spark runtime and, where it can, PyIceberg read them; so are the changes between any two
steps.
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

from flink.flink_environment import flink_python
from flink.flink_session import FlinkSession
from flink.scenario import VARIANTS, Scenario
from judges.iceberg import IcebergJudge
from sessions import open_session


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--variants", type=int, default=len(VARIANTS))
    given = parser.parse_args()
    python = flink_python(Path(ROOT, "build", "flink"))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve()
        (folder / "warehouse").mkdir()
        spark = open_session(folder / "warehouse")
        spark.sql("CREATE NAMESPACE lake.db")
        iceberg = IcebergJudge(folder / "warehouse")
        flink = FlinkSession(python, folder / "warehouse", Path(ROOT, "build", "flink", "log.txt"))
        try:
            for number, variant in enumerate(VARIANTS[: given.variants]):
                scenario = Scenario(spark, flink, iceberg, folder / "sources", variant, given.seed + number)
                scenario.run(given.steps)
                told = "; ".join(scenario.told)
                print(f"seed {given.seed + number}, {variant}: all equal. {told}", flush=True)
        finally:
            flink.close()
            iceberg.close()
            spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
