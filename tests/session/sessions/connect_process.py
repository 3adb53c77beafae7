"""A client of a Connect server in its own process: `python connect_process.py WAREHOUSE`; prints what it has seen."""

from __future__ import annotations

import json
import sys
import warnings

from pyspark.sql import SparkSession

import sqlext


def main(warehouse: str) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        builder = sqlext.configure(SparkSession.builder.remote("local[1]"), lake=warehouse)
        spark = builder.config("spark.ui.enabled", "false").getOrCreate()
    spark.sql("CREATE NAMESPACE lake.db")
    spark.sql("CREATE TABLE lake.db.t (id INT, v STRING, PRIMARY KEY (id))")
    spark.sql("UPSERT INTO lake.db.t VALUES (1, 'a'), (2, 'b')")
    sqlext.upsert(spark.createDataFrame([(2, "c")], "id INT, v STRING"), "lake.db.t")
    rows = [tuple(row) for row in spark.table("lake.db.t").orderBy("id").collect()]
    try:
        sqlext.attach(spark)
        refused = ""
    except sqlext.SqlextError as error:
        refused = error.condition
    failed = [str(one.message) for one in told if "Failed to set" in str(one.message)]
    print(
        json.dumps(
            {"rows": rows, "refused": refused, "failed": failed, "is_client": not isinstance(spark, SparkSession)}
        )
    )
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
