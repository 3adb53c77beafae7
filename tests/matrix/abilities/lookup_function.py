"""sqlext.lookup of rows by their keys"""

from __future__ import annotations

from datetime import date
from pathlib import Path

from pyspark.sql import SparkSession

import sqlext

SECTION = "SELECT"
EXPECTED = "1a 3c | c"


def answer(spark: SparkSession, folder: Path) -> str:
    spark.sql("CREATE NAMESPACE lake.lookup_function")
    spark.sql("CREATE TABLE lake.lookup_function.t (id INT, at DATE, v STRING, PRIMARY KEY (id, at))")
    spark.sql("INSERT INTO lake.lookup_function.t VALUES (1, DATE '2026-01-01', 'a'), (3, DATE '2026-01-03', 'b')")
    spark.sql("UPDATE lake.lookup_function.t SET v = 'c' WHERE id = 3")
    keys = [(1, date(2026, 1, 1)), {"at": date(2026, 1, 3), "id": 3}, (3, date(2026, 1, 1))]
    found = sorted(sqlext.lookup(spark, "lake.lookup_function.t", keys), key=lambda row: row.id)
    values = sqlext.lookup(spark, "lake.lookup_function.t", keys[1:2], columns=["v"])
    return " ".join(f"{row.id}{row.v}" for row in found) + " | " + " ".join(row.v for row in values)
