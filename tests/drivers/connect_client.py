"""A client of Spark Connect, in a process that has no JVM: `connect_client.py PORT`. Prints what it found as JSON.

`connect_client.py PORT WAREHOUSE AREA…` runs golden areas instead, and prints those whose results differ.
"""

from __future__ import annotations

import difflib
import json
import re
import sys
import tempfile
import time
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sqlext

# What a statement is lowered to is logged by the server's Python side.
_LOWERED = re.compile(r"^-- lowered\n(?:(?!-- )[^\n]+\n)*", re.MULTILINE)


def refused(run: object) -> str | None:
    try:
        run()  # type: ignore[operator]
    except PySparkException as failure:
        return str(failure.getCondition())
    return "nothing"


def main(port: str) -> dict[str, object]:
    found: dict[str, object] = {}
    spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
    other = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
    spark.sql("CREATE NAMESPACE lake.db")
    spark.sql("CREATE TABLE lake.db.t (id BIGINT, v STRING, PRIMARY KEY (id))")

    sqlext.upsert(spark.createDataFrame([(1, "a"), (2, "b")], "id BIGINT, v STRING"), "lake.db.t")
    sqlext.upsert(spark.range(2, 250_000), "lake.db.t", {"snapshot-property.by": "client"})
    found["upserted"] = [list(row) for row in spark.table("lake.db.t").where("id < 3").orderBy("id").collect()]
    found["many"] = spark.table("lake.db.t").count()

    with sqlext.transaction(spark, "lake"):
        spark.sql("DELETE FROM lake.db.t WHERE id > 2")
        found["in the transaction"] = [spark.table("lake.db.t").count(), other.table("lake.db.t").count()]
    found["after it"] = other.table("lake.db.t").count()

    spark.sql("SELECT 5 AS five").createOrReplaceTempView("mine")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    found["views of others"] = refused(lambda: other.table("mine").collect())
    found["settings of others"] = other.conf.get("spark.sql.session.timeZone")
    found["errors"] = [
        refused(lambda: spark.sql("ALTER TABLE lake.db.t ADD PRIMARY KEY (id)")),
        refused(lambda: spark.sql("INSERT INTO lake.db.t VALUES ('x', 1, 2)")),
        refused(lambda: sqlext.upsert(spark.range(1), "lake.db.missing")),
    ]

    with tempfile.TemporaryDirectory() as checkpoint:
        source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", "5").load()
        rows = source.selectExpr("value % 5 AS id", "'streamed' AS v")
        query = sqlext.write_stream(rows).upsert().checkpoint(checkpoint).to_table("lake.db.t", query="keyed")
        while not any(progress["batchId"] >= 2 for progress in query.recentProgress):
            assert query.isActive, query.exception()
            time.sleep(0.2)
        query.stop()
        found["stream"] = spark.table("lake.db.t").where("v = 'streamed'").count()
    spark.stop()
    other.stop()
    return found


def differing_areas(port: str, warehouse: str, areas: list[str]) -> list[str]:
    from golden.runner import result_path, run_area

    spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
    differing = []
    for area in areas:
        given = _LOWERED.sub("", run_area(spark, Path(warehouse), area))
        recorded = _LOWERED.sub("", result_path(area).read_text())
        if given != recorded:
            differing.append(area)
            lines = difflib.unified_diff(recorded.splitlines(), given.splitlines(), lineterm="", n=1)
            print("\n".join([area, *lines]), file=sys.stderr)
    spark.stop()
    return differing


if __name__ == "__main__":
    port, *golden = sys.argv[1:]
    print(json.dumps(differing_areas(port, golden[0], golden[1:]) if golden else main(port)))
