"""Iceberg's and Delta's extensions in a session with sqlext's: `beside_process.py FOLDER EXTENSIONS`.

`lake` is sqlext's catalog, `ice` Iceberg's over the same folder, `spark_catalog` Delta's. Prints what it found as JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import SparkSession

import sqlext
from judges.iceberg import IVY_CACHE, RUNTIME
from sessions import settings

DELTA = "io.delta:delta-spark_4.1_2.13:4.4.0"

CHANGED = "WHEN MATCHED THEN UPDATE SET s = concat(t.s, s.s) WHEN NOT MATCHED THEN INSERT *"


def open_session(folder: str, extensions: str) -> SparkSession:
    builder = SparkSession.builder.master("local[2]")
    for name, value in {
        **settings(),
        "spark.sql.warehouse.dir": f"{folder}/spark",
        # Of Delta, which reads its log in fifty tasks.
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.jars.packages": f"{RUNTIME},{DELTA}",
        "spark.jars.ivy": str(IVY_CACHE),
        "spark.sql.extensions": extensions,
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": f"{folder}/lake",
    }.items():
        builder = builder.config(name, value)
    return sqlext.configure(builder, lake=f"{folder}/lake").getOrCreate()


def main(folder: str, extensions: str) -> dict[str, object]:
    spark = open_session(folder, extensions)
    for text in (
        "CREATE NAMESPACE lake.db",
        "CREATE TABLE lake.db.t (id BIGINT NOT NULL, s STRING, PRIMARY KEY (id))"
        " TBLPROPERTIES ('write.upsert.mode' = 'equality')",
        "CREATE TABLE ice.db.i (id BIGINT, s STRING)",
        "CREATE TABLE d (id BIGINT, s STRING) USING delta",
        "INSERT INTO lake.db.t VALUES (1, 'a'), (2, 'b')",
        "UPSERT INTO lake.db.t VALUES (2, 'c')",
        "INSERT INTO ice.db.i VALUES (1, 'i'), (5, 'j')",
        "INSERT INTO d VALUES (1, 'd'), (9, 'e')",
        f"MERGE INTO ice.db.i t USING lake.db.t s ON t.id = s.id {CHANGED}",
        f"MERGE INTO d t USING lake.db.t s ON t.id = s.id {CHANGED}",
        "CREATE TEMPORARY VIEW others AS SELECT * FROM d UNION SELECT * FROM ice.db.i WHERE id = 5",
        f"MERGE INTO lake.db.t t USING others s ON t.id = s.id {CHANGED}",
        "UPDATE lake.db.t SET s = 'nine' WHERE id = 9",
        "UPDATE ice.db.i SET s = 'five' WHERE id = 5",
        "UPDATE d SET s = 'Nine' WHERE id = 9",
        "DELETE FROM lake.db.t WHERE id = 5",
        "ALTER TABLE lake.db.t ADD PARTITION FIELD bucket(4, id)",
        "ALTER TABLE ice.db.i ADD PARTITION FIELD bucket(4, id)",
        "ALTER TABLE lake.db.t CREATE BRANCH b",
        "ALTER TABLE ice.db.i CREATE BRANCH b",
        "ALTER TABLE lake.db.t WRITE ORDERED BY id",
        "ALTER TABLE ice.db.i WRITE ORDERED BY id",
        "CALL lake.system.compact('db.t')",
        "CALL ice.system.rewrite_data_files('db.i')",
        "CREATE VIEW lake.db.v AS SELECT * FROM lake.db.t",
        "OPTIMIZE d",
    ):
        spark.sql(text)
    with sqlext.transaction(spark):
        spark.sql("INSERT INTO lake.db.t SELECT id + 100, s FROM d")
    spark.range(1000, 301_000).selectExpr("id", "string(id) AS s").writeTo("lake.db.t").append()
    spark.sql("UPDATE lake.db.t SET s = 'even' WHERE id >= 1000 AND id % 2 = 0")
    spark.range(3).write.format("delta").save(f"{folder}/by_path")
    spark.range(3).writeTo("ice.db.written").create()
    return {
        "lake": rows(spark, "SELECT id, s FROM lake.db.t WHERE id < 1000 ORDER BY id"),
        "by Iceberg": rows(spark, "SELECT id, s FROM ice.db.t WHERE id < 1000 ORDER BY id"),
        "ice": rows(spark, "SELECT id, s FROM ice.db.i ORDER BY id"),
        "delta": rows(spark, "SELECT id, s FROM d ORDER BY id"),
        "even": rows(spark, "SELECT count(*) FROM lake.db.v WHERE s = 'even'")[0][0],
        "joined": rows(spark, "SELECT count(*) FROM lake.db.t JOIN d USING (id) JOIN ice.db.i USING (id)")[0][0],
        "delta's history": spark.sql("SELECT * FROM d VERSION AS OF 1").count(),
        "by path": spark.read.format("delta").load(f"{folder}/by_path").count(),
        "written by Iceberg": spark.table("lake.db.written").count(),
    }


def rows(spark: SparkSession, text: str) -> list[list[Any]]:
    return [list(row) for row in spark.sql(text).collect()]


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
