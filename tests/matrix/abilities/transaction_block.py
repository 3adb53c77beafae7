"""sqlext.transaction, with DataFrames in it"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import sqlext

SECTION = "Transactions"
EXPECTED = "2 in it, 0 after it, then 1"


def answer(spark: SparkSession, folder: Path) -> str:
    spark.sql("CREATE NAMESPACE lake.transaction_block")
    spark.sql("CREATE TABLE lake.transaction_block.t (id BIGINT)")
    table = spark.table("lake.transaction_block.t")
    try:
        with sqlext.transaction(spark, "lake"):
            spark.range(2).writeTo("lake.transaction_block.t").append()
            within = table.count()
            raise LookupError("of the block")
    except LookupError:
        after = table.count()
    with sqlext.transaction(spark, "lake", isolation="serializable"):
        spark.range(1).writeTo("lake.transaction_block.t").append()
    return f"{within} in it, {after} after it, then {table.count()}"
