"""Spark's rate source into tables, stopped and begun again: each value once."""

from __future__ import annotations

import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

KEYS = 7
ROWS_A_SECOND = 50
RUNS = 2
WAIT_S = 120


def test_values_of_the_rate_source_come_once(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    log, state = f"{table_name}_log", f"{table_name}_state"
    spark.sql(f"CREATE TABLE {log} (value BIGINT)")
    spark.sql(f"CREATE TABLE {state} (id BIGINT, value BIGINT, PRIMARY KEY (id))")
    for _ in range(RUNS):
        queries = [_begin(spark, log, "append", tmp_path), _begin(spark, state, "update", tmp_path)]
        for query in queries:
            _wait_for_rows(query)
            query.stop()
        for checkpoint in tmp_path.glob("*/offsets"):
            # As if each had been killed before Spark heard of its last commit.
            last = max((path.name for path in checkpoint.glob("[0-9]*")), key=int)
            for name in (last, f".{last}.crc"):
                (checkpoint.parent / "commits" / name).unlink(missing_ok=True)

    values = sorted(row.value for row in spark.table(log).collect())
    assert values == list(range(len(values)))
    assert values
    found = {row.id: row.value for row in spark.table(state).collect()}
    last = max(found.values())
    assert found == {value % KEYS: value for value in range(last + 1)}


def _begin(spark: SparkSession, table: str, mode: str, folder: Path) -> StreamingQuery:
    reader = spark.readStream.format("rate").option("rowsPerSecond", ROWS_A_SECOND).option("numPartitions", 1)
    value = F.col("value")
    rows = reader.load().select(*([(value % KEYS).alias("id")] if mode == "update" else []), value)
    writer = rows.writeStream.outputMode(mode).option("checkpointLocation", str(folder / mode))
    return writer.trigger(processingTime="200 milliseconds").toTable(table)


def _wait_for_rows(query: StreamingQuery) -> None:
    """Until a batch of the run has brought some."""
    ends = time.monotonic() + WAIT_S
    while not any(progress["numInputRows"] for progress in query.recentProgress):
        assert time.monotonic() < ends, query.status
        assert query.isActive, query.exception()
        time.sleep(0.1)
