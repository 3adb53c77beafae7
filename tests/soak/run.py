"""A set of equality deletes that is larger than the reader's memory: `python3 tests/soak/run.py`.

One process upserts `--keys` keys by equality deletes, another, whose JVM has `--memory`, reads the table: all rows must
be there once, whatever the deletes take. Then the simulator of commits runs `--seeds` seeds, and a tenth as many each
on a database and a server; histories of transactions are checked for cycles; and on each catalog `--kills` processes
are killed at random, as many that commit together, and a fiftieth as many that have a Spark. `--part` names one
of the two.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, ".ci"), os.path.join(ROOT, "tests"), ROOT]

import environment

environment.enter("test")

from pyspark.sql import SparkSession

import sqlext

# of the keys that are there, the first half is upserted
STORED = 1_000_000


def open_session(warehouse: str, memory: str) -> SparkSession:
    settings = {"spark.driver.memory": memory, "spark.ui.enabled": "false", "spark.log.level": "ERROR"}
    return sqlext.session(lake=warehouse, master="local[2]", conf=settings)


def build(warehouse: str, keys: int) -> None:
    spark = open_session(warehouse, "3g")
    spark.sql("CREATE NAMESPACE lake.db")
    spark.sql("CREATE TABLE lake.db.t (id BIGINT, v INT, PRIMARY KEY (id)) WITH ('write.upsert.mode'='equality')")
    first = keys - STORED // 2
    spark.sql(f"INSERT INTO lake.db.t SELECT id, 1 FROM range({first}, {first + STORED})")
    spark.sql(
        f"MERGE INTO lake.db.t USING (SELECT id, 2 AS v FROM range({keys})) AS s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )


def read(warehouse: str, memory: str, keys: int) -> int:
    spark = open_session(warehouse, memory)
    started = time.monotonic()
    found = tuple(spark.sql("SELECT count(*), count(DISTINCT id), sum(v) FROM lake.db.t").collect()[0])
    expected = (keys + STORED // 2, keys + STORED // 2, 2 * keys + STORED // 2)
    print(f"{keys} deletes read in {memory}: {found}, {time.monotonic() - started:.0f} s", flush=True)
    return 0 if found == expected else 1


def fault_tests(seeds: int, kills: int) -> int:
    tests = os.path.join(ROOT, "tests")
    pytest = [sys.executable, "-m", "pytest"]
    killing = [*pytest, os.path.join(tests, "fault", "test_random_kills.py")]
    killing_group = [*pytest, os.path.join(tests, "fault", "test_group_commit_of_processes.py"), "-k", "at_random"]
    killing_spark = [*pytest, os.path.join(tests, "bad_input", "test_stopped_process.py"), "-k", "kill_9_at_any_time"]
    simulator = [sys.executable, os.path.join(tests, "simulator", "run.py")]
    steps = [
        ([*simulator, "--seeds", str(seeds)], {}),
        ([*simulator, "--catalog", "sql", "--seeds", str(seeds // 10)], {}),
        ([*simulator, "--catalog", "rest", "--seeds", str(seeds // 10)], {}),
        ([*pytest, os.path.join(tests, "catalog", "test_histories.py")], {"SQLEXT_TRANSACTIONS": str(2 * kills)}),
        (killing, {"SQLEXT_KILLS": str(kills)}),
        (killing_group, {"SQLEXT_KILLS": str(kills)}),
        (killing_spark, {"SQLEXT_KILLS": str(kills // 50)}),
    ]
    return max(
        subprocess.run(step, check=False, cwd=ROOT, env={**os.environ, **more}).returncode for step, more in steps
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=20_000_000)
    parser.add_argument("--memory", default="512m")
    parser.add_argument("--read", help="a warehouse that is there already")
    parser.add_argument("--seeds", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=1_000)
    parser.add_argument("--part", choices=("deletes", "faults"))
    given = parser.parse_args()
    if given.read:
        return read(given.read, given.memory, given.keys)
    failed = 0
    if given.part != "faults":
        with tempfile.TemporaryDirectory(prefix="sqlext-soak-") as warehouse:
            build(warehouse, given.keys)
            more = ["--read", warehouse, "--memory", given.memory, "--keys", str(given.keys)]
            failed = subprocess.run([sys.executable, __file__, *more], check=False).returncode
    if given.part != "deletes":
        failed = max(failed, fault_tests(given.seeds, given.kills))
    return failed


if __name__ == "__main__":
    sys.exit(main())
