"""sqlext.upsert of a DataFrame"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import sqlext

SECTION = "UPSERT"
EXPECTED = "1a 2c"


def answer(spark: SparkSession, folder: Path) -> str:
    spark.sql("CREATE NAMESPACE lake.upsert_function")
    spark.sql("CREATE TABLE lake.upsert_function.t (id INT, v STRING, PRIMARY KEY (id))")
    spark.sql("INSERT INTO lake.upsert_function.t VALUES (2, 'b')")
    sqlext.upsert(spark.createDataFrame([(1, "a"), (2, "c")], "id INT, v STRING"), "lake.upsert_function.t")
    found = spark.table("lake.upsert_function.t").orderBy("id").collect()
    return " ".join(f"{row.id}{row.v}" for row in found)
