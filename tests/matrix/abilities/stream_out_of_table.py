"""Streams out of tables, with row kinds and consumers"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

SECTION = "Streams"
EXPECTED = "1a 3c | job"


def answer(spark: SparkSession, folder: Path) -> str:
    spark.sql("CREATE NAMESPACE lake.stream_out_of_table")
    for name in ("source", "copy"):
        spark.sql(f"CREATE TABLE lake.stream_out_of_table.{name} (id INT, v STRING, PRIMARY KEY (id))")
    spark.sql("INSERT INTO lake.stream_out_of_table.source VALUES (1, 'a'), (2, 'b')")
    for statement in ("DELETE FROM {} WHERE id = 2", "UPSERT INTO {} VALUES (3, 'c')"):
        _copied(spark, folder)
        spark.sql(statement.format("lake.stream_out_of_table.source"))
    _copied(spark, folder)
    found = spark.table("lake.stream_out_of_table.copy").orderBy("id").collect()
    consumers = spark.sql("CALL lake.system.consumers('stream_out_of_table.source')").collect()
    return " ".join(f"{row.id}{row.v}" for row in found) + " | " + " ".join(row.consumer_id for row in consumers)


def _copied(spark: SparkSession, folder: Path) -> None:
    """Runs the stream up to the newest snapshot of its source."""
    read = spark.readStream.option("row-kinds", "true").option("consumer-id", "job")
    changes = read.table("lake.stream_out_of_table.source")
    written = changes.writeStream.outputMode("update").trigger(availableNow=True)
    checkpoint = str(folder / "stream_out_of_table.checkpoint")
    written.option("checkpointLocation", checkpoint).toTable("lake.stream_out_of_table.copy").awaitTermination()
