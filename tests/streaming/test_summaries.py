"""What snapshots of streams and the metrics of their sinks say, against a count over the manifests."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from judges.pyiceberg_judge import latest_metadata
from judges.recount import recounted
from streaming.json_stream import JsonStream

COLUMNS = "id INT, part STRING, n INT"
BATCHES = 4
BUCKETS = "'bucket'='2', 'num-sorted-run.compaction-trigger'='2'"
TABLES = {
    "log": "",
    "equality": "'write.upsert.mode'='equality'",
    "positions": "'write.upsert.mode'='resolved'",
    "vectors": "'format-version'='3', 'write.upsert.mode'='resolved'",
    "buckets": f"'format-version'='3', 'write.upsert.enabled'='true', {BUCKETS}",
    "write_only": f"'write.upsert.mode'='equality', 'write-only'='true', {BUCKETS}",
    "sums": "'format-version'='3', 'merge-engine'='aggregation', 'fields.n.aggregate-function'='sum'",
    "first": "'merge-engine'='first-row', 'write.upsert.mode'='resolved'",
}


def _create(spark: SparkSession, table: str, kind: str) -> None:
    key = "" if kind == "log" else ", PRIMARY KEY (id, part)"
    properties = f" TBLPROPERTIES ({TABLES[kind]})" if TABLES[kind] else ""
    partitions = " PARTITIONED BY (part)" if kind in ("log", "equality", "vectors") else ""
    spark.sql(f"CREATE TABLE {table} ({COLUMNS}{key}){partitions}{properties}")


def _rows(rng: random.Random) -> list[dict[str, Any]]:
    return [{"id": rng.randrange(6), "part": rng.choice("ab"), "n": rng.randrange(9)} for _ in range(10)]


def _check(warehouse: Path, table: str) -> dict[int, dict[str, int]]:
    """The counters of each snapshot, which are right."""
    counted = recounted(latest_metadata(warehouse.joinpath(*table.split(".")[1:])))
    for told, found in counted.values():
        assert told == found
    return {id: told for id, (told, _) in counted.items()}


@pytest.mark.turns(2)
@pytest.mark.parametrize("kind", TABLES)
def test_counters_of_what_streams_write(
    spark: SparkSession, warehouse: Path, table_name: str, tmp_path: Path, kind: str
) -> None:
    _create(spark, table_name, kind)
    rng, stream = random.Random(1), JsonStream(spark, tmp_path, COLUMNS)
    for _ in range(BATCHES):
        stream.put(*_rows(rng))
    query = stream.run(table_name, "append" if kind == "log" else "update")
    if kind == "write_only":
        spark.sql(f"CALL lake.system.compact('{table_name.removeprefix('lake.')}')")
    counters = _check(warehouse, table_name)

    rows = spark.sql(f"SELECT snapshot_id, summary, operation FROM {table_name}.snapshots").collect()
    operations = [row.operation for row in rows]
    assert ("replace" in operations) == (kind in ("buckets", "write_only"))
    of_batch = {
        int(row.summary["spark.sql.streaming.epochId"]): counters[row.snapshot_id]
        for row in rows
        if row.operation != "replace"
    }
    progress = query.recentProgress
    assert [one["batchId"] for one in progress] == list(range(BATCHES))
    for one in progress:
        metrics, told = one["sink"]["metrics"], of_batch.get(one["batchId"])
        if told is None:
            # All its keys had their rows.
            assert kind == "first"
            assert "commitMs" not in metrics
            continue
        assert int(metrics["addedDataFiles"]) == told["added-data-files"]
        assert int(metrics["addedDeleteFiles"]) == told.get("added-delete-files", 0)
        assert 0 <= int(metrics["commitMs"]) <= int(metrics["writeMs"]) <= one["durationMs"]["addBatch"]
        assert ("sinceLastCommitMs" in metrics) == (one["batchId"] > 0)
        if kind == "log":
            assert int(metrics["rowsWritten"]) == one["numInputRows"] == told["added-records"]


def test_counters_of_batches_that_go_to_many_tables(
    spark: SparkSession, warehouse: Path, table_name: str, tmp_path: Path
) -> None:
    space = table_name.replace(".db.", ".counted_")
    spark.sql(f"CREATE NAMESPACE {space}")
    for kind in ("log", "sums", "buckets"):
        _create(spark, f"{space}.{kind}", kind)
    stream = JsonStream(spark, tmp_path, f"{COLUMNS}, kind STRING")
    for number in range(BATCHES):
        stream.put(
            *(
                {"id": id, "part": "a", "n": number, "kind": kind}
                for kind in ("log", "sums", "buckets")
                for id in range(3)
            )
        )
    query = stream.run(f"{space}.log", route_by="kind")
    metrics = [one["sink"]["metrics"] for one in query.recentProgress]
    assert len(metrics) == BATCHES
    totals = {name: [0] * BATCHES for name in ("addedDataFiles", "addedDeleteFiles")}
    for kind in ("log", "sums", "buckets"):
        counters = _check(warehouse, f"{space}.{kind}")
        assert len(counters) >= BATCHES
        rows = spark.sql(f"SELECT snapshot_id, summary FROM {space}.{kind}.snapshots WHERE operation <> 'replace'")
        for row in rows.collect():
            batch, told = int(row.summary["spark.sql.streaming.epochId"]), counters[row.snapshot_id]
            for name, counter in (("addedDataFiles", "added-data-files"), ("addedDeleteFiles", "added-delete-files")):
                assert int(metrics[batch][f"{kind}.{name}"]) == told.get(counter, 0)
                totals[name][batch] += told.get(counter, 0)
    for name, of_batches in totals.items():
        assert [int(one[name]) for one in metrics] == of_batches
    for one, progress in zip(metrics, query.recentProgress, strict=True):
        assert 0 <= int(one["commitMs"]) <= int(one["writeMs"]) <= progress["durationMs"]["addBatch"]
