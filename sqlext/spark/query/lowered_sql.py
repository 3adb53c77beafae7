"""SQL that stands in for a statement. By its mark the shim knows whose positions an error has, and puts them right."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from sqlext.spark.shim.shim_object import shim_object

_MARK = "/*sqlext*/"
_LOWERED = logging.getLogger("sqlext.lowered")


def log_lowered(text: str) -> None:
    """Tells the logger `sqlext.lowered`, at the level DEBUG, what stands in for a statement."""
    _LOWERED.debug("%s", text)


def lowered_query(spark: SparkSession, text: str) -> DataFrame:
    """The query, which holds pieces of the statement that runs."""
    # PySpark's own `sql` makes a dozen calls to the JVM, most of them about parameters.
    return DataFrame(spark._jsparkSession.sql(_MARK + text), spark)


def rows_for_columns(spark: SparkSession, text: str, defaults: Sequence[str], beside: str | None) -> DataFrame:
    """The query of an INSERT; DEFAULT as a whole value stands for the SQL in `defaults` that is at its place.

    A column of the name `beside` has no place among them.
    """
    session, shim = spark._jsparkSession, shim_object(spark, "DefaultValues")
    return DataFrame(shim.rows(session, _MARK + text, list(defaults), beside), spark)


def lowered_change(spark: SparkSession, text: str) -> DataFrame:
    """The query of a change, whose conditions say the same of a row each time they are asked.

    Errors: Spark's own, and those of `refuse_expression`.
    """
    query = lowered_query(spark, text)
    shim_object(spark, "RowExpressions").requireConditions(query._jdf)
    return query


def lowered_expression(text: str) -> Column:
    """An expression that holds pieces of the statement that runs."""
    return F.expr(_MARK + text)
