"""DataFrames: writeTo, saveAsTable, toArrow"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

SECTION = "INSERT"
EXPECTED = "2b 3c | 2"


def answer(spark: SparkSession, folder: Path) -> str:
    spark.sql("CREATE NAMESPACE lake.data_frames")
    rows = spark.createDataFrame([(1, "a"), (2, "b")], "id INT, v STRING")
    rows.writeTo("lake.data_frames.t").partitionedBy("v").createOrReplace()
    spark.sql("SELECT 3 AS id, 'c' AS v").writeTo("lake.data_frames.t").append()
    spark.sql("SELECT 3 AS id, 'c' AS v").writeTo("lake.data_frames.t").overwritePartitions()
    found = spark.table("lake.data_frames.t").where("id > 1").orderBy("id").collect()
    rows.write.saveAsTable("lake.data_frames.saved")
    saved = spark.table("lake.data_frames.saved").toArrow()
    return " ".join(f"{row.id}{row.v}" for row in found) + f" | {saved.num_rows}"
