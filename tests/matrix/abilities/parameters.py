"""Parameters of spark.sql"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

SECTION = "Parameters, EXECUTE IMMEDIATE and scripts"
EXPECTED = "1a 2c 3it's"


def answer(spark: SparkSession, folder: Path) -> str:
    spark.sql("CREATE NAMESPACE lake.parameters")
    spark.sql("CREATE TABLE lake.parameters.t (id INT, v STRING, PRIMARY KEY (id))")
    spark.sql("INSERT INTO lake.parameters.t VALUES (?, ?), (2, 'b')", args=[1, "a"])
    spark.sql("UPDATE lake.parameters.t SET v = :v WHERE id = :id", args={"v": "c", "id": 2})
    spark.sql("UPSERT INTO lake.parameters.t VALUES (:id, :v)", args={"id": 3, "v": "it's"})
    found = spark.sql("SELECT id, v FROM lake.parameters.t WHERE id > :id ORDER BY id", args={"id": 0}).collect()
    return " ".join(f"{row.id}{row.v}" for row in found)
