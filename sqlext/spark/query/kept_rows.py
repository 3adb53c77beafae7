"""Rows of a query that the JVM keeps for the result of the running statement, in Spark's own objects."""

from __future__ import annotations

from pyspark.sql import DataFrame

from sqlext.spark.shim.java_objects import java_rows, shim_object


def keep_rows(rows: DataFrame, most: int) -> str | None:
    """Evaluates a query and keeps its rows in the JVM until the statement returns them; None if there are more than
    `most`, which are not kept."""
    name: str | None = shim_object(rows.sparkSession, "KeptRows").keep(java_rows(rows), most)
    return name
