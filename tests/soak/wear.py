"""What a process keeps of statements, batches and sessions: `python3 tests/soak/wear.py`.

One process runs `--statements` statements of every kind, `--batches` batches of a stream and `--sessions` sessions one
after another, each in two halves. Threads, file descriptors, the JVM's heap and Python's objects after the second
half are to be what they were after the first. It prints both as JSON, and what grew by more than `ROOM`: then it fails.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, ".ci"), os.path.join(ROOT, "tests"), ROOT]

import environment

environment.enter("test")

from pyspark import SparkContext
from pyspark.sql import SparkSession

import sqlext

# Each is run with `{n}`, a number that grows; each table is made anew after a round of all.
STATEMENTS = (
    "CREATE TABLE lake.db.t (id BIGINT, v BIGINT, w STRING, PRIMARY KEY (id))",
    "INSERT INTO lake.db.t VALUES ({n}, 1, 'a')",
    "INSERT INTO lake.db.t SELECT id, id, 'b' FROM range(100, 200)",
    "UPSERT INTO lake.db.t VALUES ({n}, 2, 'c')",
    "UPSERT INTO lake.db.t SELECT id, id + 1, 'd' FROM range(90, 120)",
    "SELECT sum(v) FROM lake.db.t",
    "UPDATE lake.db.t SET v = v + {n} WHERE id BETWEEN 100 AND 103",
    "SELECT w, count(*) FROM lake.db.t GROUP BY w",
    "DELETE FROM lake.db.t WHERE id % 7 = 3",
    "SELECT count(DISTINCT v) FROM lake.db.t WHERE id IN (SELECT max(id) FROM lake.db.t)",
    "MERGE INTO lake.db.t USING (SELECT id, 3 AS v FROM range(150, 250)) AS s ON t.id = s.id"
    " WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)",
    "SELECT t.id, u.v FROM lake.db.t JOIN lake.db.t AS u ON t.id = u.v ORDER BY 1",
    "INSERT INTO lake.db.t SELECT id, id, w FROM lake.db.t WHERE id < 0",
    "ALTER TABLE lake.db.t SET TBLPROPERTIES ('a' = '{n}')",
    "ALTER TABLE lake.db.t ADD COLUMN x STRUCT<y: INT>",
    "SELECT x.y, max(v) FROM lake.db.t GROUP BY ALL",
    "SELECT * FROM lake.db.t.snapshots",
    "SELECT count(*) FROM lake.db.t.files",
    "BEGIN",
    "UPDATE lake.db.t SET w = 'e' WHERE v = 3",
    "COMMIT",
    "CREATE OR REPLACE VIEW lake.db.v AS SELECT id, v FROM lake.db.t",
    "SELECT count(*) FROM lake.db.v",
    "ALTER TABLE lake.db.t CREATE BRANCH side",
    "INSERT INTO lake.db.t.branch_side (id, v) VALUES (1000, {n})",
    "SELECT count(*) FROM lake.db.t VERSION AS OF 'side'",
    "CALL lake.system.compact('db.t')",
    "DESCRIBE TABLE EXTENDED lake.db.t",
    "DELETE FROM lake.db.t",
    "DROP TABLE lake.db.t PURGE",
)


@dataclass(frozen=True)
class Held:
    """What both processes hold once their garbage is collected."""

    python_threads: int
    python_descriptors: int
    python_objects: int
    jvm_descriptors: int
    jvm_heap: int


# Caches of a bounded size may still fill up; a thread or a connection more may be waiting for its next use.
ROOM = Held(python_threads=2, python_descriptors=2, python_objects=8000, jvm_descriptors=4, jvm_heap=24 * 1024 * 1024)


def open_session(warehouse: Path) -> SparkSession:
    """A session whose own records of what ran, and caches of what it read, are short, so that they are full early."""
    retained = ("ui.retainedJobs", "ui.retainedStages", "ui.retainedTasks", "sql.ui.retainedExecutions")
    settings = {
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.cleaner.periodicGC.interval": "60s",
        "spark.sql.codegen.cache.maxEntries": "50",
        "spark.sqlext.manifest-cache.max-bytes": "1m",
        **{f"spark.{name}": "10" for name in retained},
    }
    return sqlext.session(lake=str(warehouse), master="local[2]", conf=settings)


def run_statements(spark: SparkSession, count: int) -> None:
    number = 0
    while number < count:
        for statement in STATEMENTS:
            number += 1
            spark.sql(statement.format(n=number)).collect()


def run_batches(spark: SparkSession, warehouse: Path, count: int) -> None:
    """One query that has a batch for each file, and a query of one batch for every tenth."""
    spark.sql("CREATE TABLE IF NOT EXISTS lake.db.s (id BIGINT, v BIGINT, PRIMARY KEY (id))")
    source = Path(tempfile.mkdtemp(dir=warehouse))
    checkpoint = str(warehouse / "checkpoints" / source.name)
    for number in range(count):
        (source / f"{number}.json").write_text(json.dumps({"id": number % 5, "v": number}))
    rows = spark.readStream.schema("id BIGINT, v BIGINT").option("maxFilesPerTrigger", "1").json(str(source))
    query = rows.writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True).toTable("lake.db.s")
    query.awaitTermination()
    for number in range(count // 10):
        read = spark.readStream.table("lake.db.s").writeStream.format("noop").trigger(availableNow=True)
        read.option("checkpointLocation", f"{checkpoint}-{number}").start().awaitTermination()
    spark.sql("DROP TABLE lake.db.s PURGE")


def held() -> Held:
    """Both processes collect their garbage; what ends with it has some seconds to end."""
    jvm = SparkContext._gateway.jvm
    found = []
    for _ in range(3):
        gc.collect()
        jvm.java.lang.System.gc()
        time.sleep(1.5)
        found.append(astuple(_held(jvm)))
    return Held(*(min(values) for values in zip(*found, strict=True)))


def _held(jvm: Any) -> Held:
    runtime = jvm.java.lang.Runtime.getRuntime()
    return Held(
        python_threads=threading.active_count(),
        python_descriptors=len(os.listdir("/proc/self/fd")),
        python_objects=len(gc.get_objects()),
        jvm_descriptors=_descriptors(jvm.java.lang.ProcessHandle.current().pid()),
        jvm_heap=runtime.totalMemory() - runtime.freeMemory(),
    )


def _descriptors(process: int) -> int:
    """But for jars of sessions that have ended: the class loader of Spark's own executor never closes these."""
    count = 0
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        try:
            count += not os.readlink(descriptor).endswith(".jar (deleted)")
        except FileNotFoundError:
            continue
    return count


def grew(kind: str, half: Callable[[], None]) -> list[str]:
    """Runs both halves; the names of what the second one left more of."""
    half()
    first = asdict(held())
    half()
    second = asdict(held())
    more = [name for name, room in asdict(ROOM).items() if second[name] > first[name] + room]
    print(json.dumps({"kind": kind, "first": first, "second": second, "grew": more}), flush=True)
    return more


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--statements", type=int, default=2000)
    parser.add_argument("--batches", type=int, default=500)
    parser.add_argument("--sessions", type=int, default=20)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sqlext-wear-") as folder:
        warehouse = Path(folder)
        spark = open_session(warehouse)
        spark.sql("CREATE NAMESPACE lake.db")

        def sessions() -> None:
            for _ in range(arguments.sessions // 2):
                SparkSession.active().stop()
                run_statements(open_session(warehouse), len(STATEMENTS))

        more = [
            *grew("statements", lambda: run_statements(spark, arguments.statements // 2)),
            *grew("batches", lambda: run_batches(spark, warehouse, arguments.batches // 2)),
            *grew("sessions", sessions),
        ]
        SparkSession.active().stop()
    return 1 if more else 0


if __name__ == "__main__":
    sys.exit(main())
