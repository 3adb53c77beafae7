"""A driver of a cluster: `cluster_process.py MASTER SCENARIO CONF`, with the executors' Python in PYSPARK_PYTHON.

CONF is JSON: further settings, with those of the catalog `lake`. Prints what it found as JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sqlext

ROWS = 2_000_000
NUMBER = "number BIGINT GENERATED ALWAYS AS IDENTITY"
COUNTED = "SELECT count(*), count(DISTINCT id), sum(length(v)), count(DISTINCT number) FROM lake.db.t"


def refused(run: Callable[[], object]) -> str:
    try:
        run()
    except PySparkException as failure:
        return str(failure)
    return "nothing"


def changes(spark: SparkSession) -> dict[str, object]:
    """Every kind of job that runs Python on executors: writes, ENFORCED keys, manifests."""
    found: dict[str, object] = {}
    spark.sql("CREATE NAMESPACE lake.db")
    spark.sql(
        "CREATE TABLE lake.db.t (id BIGINT, part INT, v STRING, PRIMARY KEY (id)) PARTITIONED BY (part) TBLPROPERTIES"
        " ('write.distribution-mode' = 'hash')"
    )
    spark.sql("INSERT INTO lake.db.t SELECT id, CAST(id % 4 AS INT), 'a' FROM range(2000000)")
    spark.sql("UPDATE lake.db.t SET v = 'b' WHERE id % 3 = 0")
    spark.sql("DELETE FROM lake.db.t WHERE id % 2 = 0")
    spark.sql(
        "MERGE INTO lake.db.t t USING (SELECT id + 1000000 AS id FROM range(1500000)) s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET v = 'c' WHEN NOT MATCHED THEN INSERT (id, part, v) VALUES (s.id, 9, 'd')"
    )
    found["rows"] = [
        list(row) for row in spark.sql("SELECT v, count(*) FROM lake.db.t GROUP BY v ORDER BY v").collect()
    ]
    spark.sql("CREATE TABLE lake.db.strict (id BIGINT, PRIMARY KEY (id) ENFORCED)")
    spark.sql("INSERT INTO lake.db.strict SELECT id FROM range(300000)")
    again = "INSERT INTO lake.db.strict SELECT id FROM range(299999, 600000)"
    found["enforced"] = refused(lambda: spark.sql(again)).partition("]")[0]
    found["small"] = list(spark.sql("UPSERT INTO lake.db.t VALUES (1, 1, 'e')").collect()[0])
    found["files"] = spark.sql("SELECT count(*) > 4 FROM lake.db.t.files").collect()[0][0]
    return found


def slow_insert(spark: SparkSession) -> dict[str, object]:
    """A write of eight tasks of some seconds each, whose executors may die meanwhile; says when it begins."""
    spark.sql("CREATE NAMESPACE lake.db")
    spark.sql(f"CREATE TABLE lake.db.t (id BIGINT, v STRING, {NUMBER}, PRIMARY KEY (id))")
    rows = spark.range(0, ROWS, 1, 8).selectExpr("id", "sha2(CAST(id AS STRING), 512) AS v")
    print("begins", flush=True)
    rows.writeTo("lake.db.t").append()
    print("begins", flush=True)
    spark.sql("UPDATE lake.db.t SET v = substr(v, 1, 8) WHERE id % 2 = 0")
    counted = spark.sql(COUNTED).collect()[0]
    files = [row.file_path for row in spark.sql("SELECT file_path FROM lake.db.t.all_files").collect()]
    return {"counted": list(counted), "files": sorted(set(files))}


def shuffled_insert(spark: SparkSession) -> dict[str, object]:
    """A write whose rows are shuffled to eight tasks; says that it begins once these tasks, which read what others
    wrote, are running."""
    spark.sql("CREATE NAMESPACE lake.db")
    spark.sql(
        f"CREATE TABLE lake.db.t (id BIGINT, part INT, v STRING, {NUMBER}) PARTITIONED BY (part)"
        " TBLPROPERTIES ('write.distribution-mode' = 'hash')"
    )
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    spark.conf.set("spark.sql.shuffle.partitions", "8")
    rows = spark.range(0, ROWS, 1, 8).selectExpr(
        "id", "CAST(id % 32 AS INT) AS part", "sha2(CAST(id AS STRING), 512) AS v"
    )
    Thread(target=say_when_rows_are_shuffled, args=(spark,), daemon=True).start()
    rows.writeTo("lake.db.t").append()
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in range(2)]
    counted = spark.sql(COUNTED).collect()[0]
    files = [row.file_path for row in spark.sql("SELECT file_path FROM lake.db.t.all_files").collect()]
    shuffles_again = max((stage.currentAttemptId for stage in stages if stage), default=0) > 0
    return {"counted": list(counted), "files": sorted(set(files)), "shuffles_again": shuffles_again}


def say_when_rows_are_shuffled(spark: SparkSession) -> None:
    tracker, done = spark.sparkContext.statusTracker(), False
    while not done:
        time.sleep(0.05)
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        done = any(stage and stage.numTasks == 8 and stage.stageId > 0 and stage.numActiveTasks for stage in stages)
        done = done and not any(stage and stage.stageId == 0 for stage in stages)
    print("begins", flush=True)


def large_merge(spark: SparkSession) -> dict[str, object]:
    """A MERGE of 20 million rows into 100 million, most of which match, and what memory the driver's processes took."""
    target, source = 100_000_000, 20_000_000
    spark.conf.set("spark.sql.shuffle.partitions", "64")
    spark.sql("CREATE NAMESPACE lake.db")
    spark.sql("CREATE TABLE lake.db.t (id BIGINT, v INT, PRIMARY KEY (id))")
    spark.sql(f"INSERT INTO lake.db.t SELECT id, CAST(id % 1000 AS INT) FROM range({target})")
    changed = f"SELECT id * 5 + IF(id % 10 = 0, {target}, 0) AS id, -1 AS v FROM range({source})"
    counts = spark.sql(
        f"MERGE INTO lake.db.t t USING ({changed}) s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
    ).collect()[0]
    rows = spark.sql("SELECT count(*), count(DISTINCT id), count_if(v = -1) FROM lake.db.t").collect()[0]
    jvm = Path(f"/proc/{spark.sparkContext._gateway.proc.pid}/status").read_text()
    peaks = {
        "python": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "jvm": int(jvm.partition("VmHWM:")[2].split()[0]) // 1024,
    }
    return {"counts": list(counts), "rows": list(rows), "peaks_mb": peaks}


SCENARIOS = {
    "changes": changes,
    "slow_insert": slow_insert,
    "shuffled_insert": shuffled_insert,
    "large_merge": large_merge,
}


def main(master: str, scenario: str, conf: str) -> None:
    settings = {
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "4",
        "spark.executor.memory": "1g",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.sqlext.manifests-on-driver.max-bytes": "1",
        **json.loads(conf),
    }
    spark = sqlext.session(master=master, conf=settings)
    try:
        print(json.dumps(SCENARIOS[scenario](spark)))
    except PySparkException as failure:
        print(json.dumps({"refused": str(failure)}))
    finally:
        spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
