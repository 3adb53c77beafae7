"""SQL that stands in for a statement. By its mark the shim knows whose positions an error has, and puts them right."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

_MARK = "/*sqlext*/"


def lowered_query(spark: SparkSession, text: str) -> DataFrame:
    """The query, which holds pieces of the statement that runs."""
    return spark.sql(_MARK + text)


def lowered_expression(text: str) -> Column:
    """An expression, likewise."""
    return F.expr(_MARK + text)
