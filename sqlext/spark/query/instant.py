"""Conversion of PySpark's timestamps, and times that a statement travels to."""

from __future__ import annotations

import datetime

from pyspark.sql import SparkSession

from sqlext.errors import AnalysisError
from sqlext.spark.query.lowered_sql import lowered_query

MICROSECONDS = 1000
"""Microseconds in a millisecond."""


def milliseconds(value: datetime.datetime) -> int:
    """Milliseconds since 1970. PySpark gives a TIMESTAMP as a local time without zone."""
    instant = value.astimezone(datetime.timezone.utc)
    whole = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return (instant - whole) // datetime.timedelta(milliseconds=1)


def evaluated_time(spark: SparkSession, expression: str) -> int:
    """The time of TIMESTAMP AS OF in microseconds since 1970, as Spark evaluates the expression. Raises AnalysisError
    INVALID_READ_OPTION for null, and Spark's errors."""
    (value,) = lowered_query(spark, f"SELECT CAST({expression} AS TIMESTAMP)").collect()[0]
    if value is None:
        raise AnalysisError("INVALID_READ_OPTION", option="TIMESTAMP AS OF", value="null", wanted="a time")
    return milliseconds(value) * MICROSECONDS
