"""sqlext.merge of a DataFrame, and its counts"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import sqlext

SECTION = "DELETE, UPDATE, MERGE"
EXPECTED = "2 affected, 1 inserted, 1 updated, 0 deleted; then 1 deleted | 1a 3d"


def answer(spark: SparkSession, folder: Path) -> str:
    spark.sql("CREATE NAMESPACE lake.merge_function")
    spark.sql("CREATE TABLE lake.merge_function.t AS SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t (id, v)")
    rows = spark.createDataFrame([(2, "c"), (3, "d")], "id INT, v STRING")
    first = sqlext.merge(rows, "lake.merge_function.t", on=["id"])
    same = "target.id = source.id AND source.v = 'c'"
    second = sqlext.merge(rows, "lake.merge_function.t", same, "WHEN MATCHED THEN DELETE")
    told = f"{first.affected} affected, {first.inserted} inserted, {first.updated} updated, {first.deleted} deleted"
    found = spark.table("lake.merge_function.t").orderBy("id").collect()
    return f"{told}; then {second.deleted} deleted | " + " ".join(f"{row.id}{row.v}" for row in found)
