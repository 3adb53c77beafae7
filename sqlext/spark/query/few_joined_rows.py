"""The source of a change's join, sent to all tasks where it turns out to have few rows."""

from __future__ import annotations

from pyspark.sql import DataFrame

from sqlext.spark.shim.java_objects import java_rows, shim_object


def with_few_joined(rows: DataFrame, most_bytes: int) -> DataFrame:
    """The query of a change, with the source's rows in its place if they have at most `most_bytes`. For this the source
    is evaluated now, if `is_tried`: in vain if it has more."""
    return DataFrame(shim_object(rows.sparkSession, "FewJoinedRows").of(java_rows(rows), most_bytes), rows.sparkSession)


def is_tried(rows: DataFrame, most_bytes: int) -> bool:
    """Whether Spark would shuffle the table and the source of a change, and may send the source instead."""
    return bool(shim_object(rows.sparkSession, "FewJoinedRows").isTried(java_rows(rows), most_bytes))
