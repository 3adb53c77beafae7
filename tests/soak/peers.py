"""How many commits of Iceberg's Spark land beside a busy sqlext: `python3 tests/soak/peers.py`.

For `--seconds` one process with Iceberg's runtime and `--writers` processes with sqlext insert one row after the other
into one table of a folder, or with `--catalog sql` of a SQLite database. Printed for each: the inserts that landed and
those that were refused, and the longest. At the end every row that was acknowledged must be there once, and none that
was refused.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, ".ci"), os.path.join(ROOT, "tests"), ROOT]

import environment

environment.enter("test")

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sqlext
from judges.iceberg import IcebergJudge, JudgeError

TABLE = "lake.db.t"


def settings_of(catalog: str, folder: str) -> Mapping[str, str]:
    """Of the catalog, the same for both engines."""
    if catalog == "folder":
        return {"type": "hadoop", "warehouse": folder}
    return {"type": "jdbc", "uri": f"jdbc:sqlite:{folder}/catalog.db", "warehouse": folder, "jdbc.schema-version": "V1"}


def sqlext_session(settings: Mapping[str, str]) -> SparkSession:
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.log.level", "ERROR").config("spark.sql.catalog.lake", "io.sqlext.Catalog")
    for name, value in settings.items():
        builder = builder.config(f"spark.sql.catalog.lake.{name}", value)
    return sqlext.configure(builder).getOrCreate()


def inserts(insert: Callable[[str], object], first: int, seconds: float) -> Mapping[str, Sequence[float]]:
    """Seconds that each insert of one row took, by whether it landed; ids count on from `first`."""
    took: dict[str, list[float]] = {"landed": [], "refused": []}
    ids: dict[str, list[float]] = {"ids": []}
    end, number = time.monotonic() + seconds, first
    while (started := time.monotonic()) < end:
        try:
            insert(f"INSERT INTO {TABLE} VALUES ({number})")
            outcome = "landed"
            ids["ids"].append(number)
        except (PySparkException, JudgeError) as error:
            if "onflict" not in str(error) and "CommitFailed" not in str(error):
                print(str(error)[:2000], file=sys.stderr)
            outcome = "refused"
        took[outcome].append(time.monotonic() - started)
        number += 1
    return {**took, **ids}


def work(settings: Mapping[str, str], first: int, seconds: float) -> None:
    """One process with sqlext: says that it is ready, waits for a line, tells what it did as JSON."""
    spark = sqlext_session(settings)
    spark.sql(f"SELECT count(*) FROM {TABLE}").collect()
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(inserts(spark.sql, first, seconds)), flush=True)


def told(name: str, counts: Mapping[str, Sequence[float]], seconds: float) -> str:
    landed, refused = counts["landed"], counts["refused"]
    times = f"median {median(landed) * 1000:.0f} ms, longest {max(landed) * 1000:.0f} ms" if landed else "none"
    return f"{name}: {len(landed)} landed ({len(landed) / seconds:.1f}/s; {times}), {len(refused)} refused"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--catalog", choices=("folder", "sql"), default="folder")
    parser.add_argument("--writers", type=int, default=1, help="processes with sqlext")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--gap-ms", type=int, default=500, help="commit.peer-gap-ms of the table")
    parser.add_argument("--work", nargs=2, metavar=("FOLDER", "FIRST"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(settings_of(options.catalog, options.work[0]), int(options.work[1]), options.seconds)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return race(options.catalog, folder, options.writers, options.seconds, options.gap_ms)


def race(catalog: str, folder: str, writers: int, seconds: float, gap_ms: int) -> int:
    judge = IcebergJudge(folder)
    judge.add_settings("lake", dict(settings_of(catalog, folder)))
    judge.sql("CREATE NAMESPACE lake.db")
    judge.sql(f"CREATE TABLE {TABLE} (id BIGINT) USING iceberg TBLPROPERTIES ('commit.peer-gap-ms'='{gap_ms}')")
    judge.sql(f"INSERT INTO {TABLE} VALUES (-1)")
    command = [sys.executable, os.path.abspath(__file__), "--catalog", catalog, "--seconds", str(seconds), "--work"]
    others = [
        subprocess.Popen(
            [*command, folder, str((number + 1) * 1_000_000)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for number in range(writers)
    ]
    for other in others:
        while other.stdout and other.stdout.readline().strip() != "ready":
            if other.poll() is not None:
                raise RuntimeError("a process with sqlext did not start")
    for other in others:
        assert other.stdin
        other.stdin.write("go\n")
        other.stdin.flush()
    counts = {"Iceberg": inserts(judge.sql, 0, seconds)}
    for number, other in enumerate(others):
        answer, _ = other.communicate()
        counts[f"sqlext {number}"] = json.loads(answer.strip().splitlines()[-1])
    for name, one in counts.items():
        print(told(name, one, seconds), flush=True)
    expected = sorted([-1, *(int(number) for one in counts.values() for number in one["ids"])])
    found = sorted(int(row[0]) for row in judge.sql(f"SELECT id FROM {TABLE}"))
    judge.close()
    print(f"{len(found)} rows, {'as acknowledged' if found == expected else 'NOT as acknowledged'}")
    return 0 if found == expected else 1


if __name__ == "__main__":
    sys.exit(main())
