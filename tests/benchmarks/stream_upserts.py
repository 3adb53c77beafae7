"""Upserts of a stream, one small micro-batch after the other, into a table that has to keep itself in order.

`--rounds` is the number of micro-batches, each of 10,000 keys that lie all over the table. Iceberg, which has no upsert
of its own in a stream, gets `foreachBatch` with MERGE; a table of it compacts nothing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import mean, median

from pyspark.sql import DataFrame

from benchmarks.bench import Bench, Result
from benchmarks.data import scattered_orders, tpch_table
from benchmarks.measure import Cost, least, measured
from benchmarks.row_changes import MERGE, STATE

KEYS_A_BATCH = 10_000
BATCH, MEAN = "a batch", "a batch on average"
FIRST, LAST = "a batch of the first tenth", "a batch of the last tenth"
SCAN, CLEAN_SCAN = "scan after", "scan of a clean table"
MODES: Mapping[str, Mapping[str, str]] = {
    "4 buckets, resolved v3": {"bucket": "4", "format-version": "3"},
    "4 buckets, resolved v2": {"bucket": "4"},
    "4 buckets, equality": {"bucket": "4", "write.upsert.mode": "equality"},
    "4 buckets, equality v3": {"bucket": "4", "write.upsert.mode": "equality", "format-version": "3"},
}
TABLE, CLEAN = "streamed", "streamed_clean"


def stream_upserts(bench: Bench) -> Iterator[Result]:
    """Seconds of a batch, of all of them and at both ends of the stream; a scan afterwards, beside one of the same rows
    that were written at once."""
    source = tpch_table(bench.data, bench.scale, "orders")
    # one more: the first is for the stream's beginning
    changes = scattered_orders(bench.data, bench.scale, KEYS_A_BATCH, bench.rounds + 1)
    bench.view(source, "source")
    modes = bench.system.merge_modes if bench.system.name != "sqlext" else MODES
    for mode, properties in bench.chosen(modes).items():
        for name in (TABLE, CLEAN):
            bench.spark.sql(f"DROP TABLE IF EXISTS {bench.table(name)}")
            columns = bench.columns(source)
            bench.spark.sql(bench.system.create_table(name, columns, properties, key="o_orderkey"))
        bench.spark.sql(f"INSERT INTO {bench.table(TABLE)} SELECT * FROM source")
        batches: list[float] = []
        cost = measured(lambda found=batches: found.extend(_streamed(bench, source, changes)))  # type: ignore[misc]
        bench.spark.sql(f"INSERT INTO {bench.table(CLEAN)} SELECT * FROM {bench.table(TABLE)}")
        check = bench.answer(STATE.format(table=bench.table(TABLE)))
        tenth = max(len(batches) // 10, 1)
        told = f"{mode}: {_live_files(bench)} files"
        seconds = {
            BATCH: Cost(median(batches), cost.cpu / len(batches)),
            MEAN: Cost(mean(batches), cost.cpu / len(batches)),
            FIRST: Cost(mean(batches[:tenth]), 0),
            LAST: Cost(mean(batches[-tenth:]), 0),
        }
        for case, figure in seconds.items():
            yield Result("stream_upserts", case, bench.system.name, told, figure, check)
        for case, name in ((SCAN, TABLE), (CLEAN_SCAN, CLEAN)):
            question = STATE.format(table=bench.table(name))
            scans = [bench.cost(question) for _ in range(2 * bench.repeats + 1)]
            yield Result("stream_upserts", case, bench.system.name, mode, least(scans[1:]), bench.answer(question))


def _streamed(bench: Bench, source: Path, changes: Path) -> list[float]:
    """Seconds of each micro-batch, the first left out: it opens the stream."""
    spark = bench.spark
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "10000")
    schema = spark.read.parquet(str(source)).schema
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", "1")
    writer = reader.parquet(str(changes)).writeStream.outputMode("update").trigger(availableNow=True)
    with tempfile.TemporaryDirectory(prefix="checkpoint-") as checkpoint:
        writer = writer.option("checkpointLocation", checkpoint)
        if bench.system.name == "sqlext":
            query = writer.toTable(bench.table(TABLE))
        else:
            query = writer.foreachBatch(lambda rows, _: _merge(bench, rows)).start()
        query.awaitTermination()
        # Iceberg's catalog answers the reading session for half a minute from before the stream.
        spark.sql(f"REFRESH TABLE {bench.table(TABLE)}")
        progress = [one for one in query.recentProgress if one.numInputRows]
    return [one.durationMs["triggerExecution"] / 1000 for one in progress[1:]]


def _merge(bench: Bench, rows: DataFrame) -> None:
    rows.createOrReplaceTempView("micro_batch")
    rows.sparkSession.sql(MERGE.format(table=bench.table(TABLE), source="micro_batch"))


def _live_files(bench: Bench) -> int:
    if bench.system.name == "delta":
        return int(bench.answer(f"SELECT count(DISTINCT _metadata.file_path) FROM {bench.table(TABLE)}")[0][0])
    return int(bench.answer(f"SELECT count(DISTINCT file_path) FROM {bench.table(TABLE)}.files")[0][0])
