"""CALL compute_table_stats, compute_partition_stats, ANALYZE TABLE"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

SECTION = "Maintenance"
EXPECTED = "100 7 7"


def answer(spark: SparkSession, folder: Path) -> str:
    spark.sql("CREATE NAMESPACE lake.table_statistics")
    spark.sql("CREATE TABLE lake.table_statistics.t (id BIGINT, kind STRING, v INT) PARTITIONED BY (kind)")
    spark.sql("INSERT INTO lake.table_statistics.t SELECT id, concat('k', id % 7), 1 FROM range(100)")
    found = []
    spark.conf.set("spark.sql.cbo.enabled", "true")
    for column, statement in (
        ("id", "CALL lake.system.compute_table_stats(table => 'table_statistics.t', columns => array('id'))"),
        ("kind", "ANALYZE TABLE lake.table_statistics.t COMPUTE STATISTICS FOR ALL COLUMNS"),
    ):
        spark.sql(statement)
        described = spark.sql(f"DESCRIBE EXTENDED lake.table_statistics.t {column}").collect()
        found += [row.info_value for row in described if row.info_name == "distinct_count"]
    spark.conf.unset("spark.sql.cbo.enabled")
    ((location,),) = spark.sql("CALL lake.system.compute_partition_stats('table_statistics.t')").collect()
    found.append(str(spark.read.parquet(location).count()))
    return " ".join(found)
