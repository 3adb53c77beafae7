"""DataFrame.mergeInto"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

SECTION = "DELETE, UPDATE, MERGE"
EXPECTED = "1a 2c 3d"


def answer(spark: SparkSession, folder: Path) -> str:
    spark.sql("CREATE NAMESPACE lake.merge_into")
    spark.sql("CREATE TABLE lake.merge_into.t AS SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t (id, v)")
    rows = spark.createDataFrame([(2, "c"), (3, "d")], "id INT, v STRING").alias("s")
    merged = rows.mergeInto("lake.merge_into.t", F.expr("t.id = s.id"))
    merged.whenMatched().updateAll().whenNotMatched().insertAll().merge()
    found = spark.table("lake.merge_into.t").orderBy("id").collect()
    return " ".join(f"{row.id}{row.v}" for row in found)
