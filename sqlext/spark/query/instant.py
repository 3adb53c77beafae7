"""Times that statements are given, as numbers: Python has no datetime after the year 9999."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.errors import AnalysisError
from sqlext.spark.query.lowered_sql import lowered_query


def milliseconds(expression: str) -> str:
    """SQL of the milliseconds since 1970 of an expression that can be cast to TIMESTAMP."""
    return f"unix_millis(CAST({expression} AS TIMESTAMP))"


def evaluated_time(spark: SparkSession, expression: str) -> int:
    """The time of TIMESTAMP AS OF in microseconds since 1970, as Spark evaluates the expression. Raises AnalysisError
    INVALID_READ_OPTION for null, and Spark's errors."""
    (value,) = lowered_query(spark, f"SELECT {milliseconds(expression)}").collect()[0]
    if value is None:
        raise AnalysisError("INVALID_READ_OPTION", option="TIMESTAMP AS OF", value="null", wanted="a time")
    return int(value) * 1000
