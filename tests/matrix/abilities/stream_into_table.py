"""Streams into tables, with upserts"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import sqlext

SECTION = "Streams"
EXPECTED = "1a 2c"


def answer(spark: SparkSession, folder: Path) -> str:
    spark.sql("CREATE NAMESPACE lake.stream_into_table")
    spark.sql("CREATE TABLE lake.stream_into_table.t (id INT, v STRING, PRIMARY KEY (id))")
    spark.sql("INSERT INTO lake.stream_into_table.t VALUES (2, 'b')")
    source, checkpoint = folder / "stream_into_table", folder / "stream_into_table.checkpoint"
    spark.createDataFrame([(1, "a"), (2, "c")], "id INT, v STRING").write.json(str(source))
    rows = spark.readStream.schema("id INT, v STRING").json(str(source))
    written = sqlext.write_stream(rows).upsert().trigger(availableNow=True).checkpoint(str(checkpoint))
    written.to_table("lake.stream_into_table.t").awaitTermination()
    found = spark.table("lake.stream_into_table.t").orderBy("id").collect()
    return " ".join(f"{row.id}{row.v}" for row in found)
