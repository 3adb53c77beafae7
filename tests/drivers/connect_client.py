"""A client of Spark Connect, in a process that has no JVM: `connect_client.py PORT`. Prints what it found as JSON."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from datetime import datetime

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sqlext


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

    found["looked up"] = [
        [list(row) for row in sqlext.lookup(spark, "lake.db.t", [1, 1, 250_000])],
        sqlext.lookup(spark, "lake.db.t.branch_main", [77], ["id"])[0].asDict(),
        sqlext.lookup(spark, "lake.db.t.ro", [78], ["id"])[0].id,
        sqlext.lookup(spark, "lake.db.t", []),
    ]
    merged = spark.createDataFrame([(1, "m"), (5, "new")], "id BIGINT, v STRING")
    spark.sql("CREATE TABLE lake.db.merged AS SELECT 1L AS id, 'a' AS v")
    found["merged"] = [
        sqlext.merge(merged, "lake.db.merged", ["id"])._asdict(),
        sqlext.merge(merged, "lake.db.merged", "target.id = source.id AND source.id > 1", "WHEN MATCHED THEN DELETE"),
        refused(lambda: sqlext.merge(merged, "lake.db.merged", ["missing"])),
        len(spark.catalog.listTables()),
    ]

    with sqlext.transaction(spark, "lake"):
        spark.sql("DELETE FROM lake.db.t WHERE id > 2")
        found["in the transaction"] = [spark.table("lake.db.t").count(), other.table("lake.db.t").count()]
    found["after it"] = other.table("lake.db.t").count()

    table = sqlext.table(spark, "lake.db.t")
    history = table.history().orderBy("committed_at").collect()
    found["table"] = [
        table.describe().key[0],
        "NOT NULL" in table._repr_html_(),
        repr(table).splitlines()[0].partition(" rows")[0],
        [history[0].rows_in, history[-1].rows_out],
        table.diff(history[0].snapshot_id, history[-1].snapshot_id).count(),
        len(table.plot.changes(history[0].snapshot_id).axes),
    ]

    snapshots = sqlext.procedures.ancestors_of(spark, "lake.db.t").count()
    expired = sqlext.procedures.expire_snapshots(spark, "lake.db.t", datetime.now(), retain_last=1, snapshot_ids=[])
    left = sqlext.procedures.ancestors_of(spark, table="db.t", catalog="lake").count()
    found["expired"] = [expired.collect()[0].deleted_manifest_lists_count == snapshots - left, left]

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


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
