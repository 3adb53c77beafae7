"""Lowered SQL for statements. Its mark tells that positions in Spark's errors are not those of the user's text."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from sqlext.spark.shim.java_objects import java_rows, java_session, shim_object

_MARK = "/*sqlext*/"
_LOWERED = logging.getLogger("sqlext.lowered")


def is_lowered(text: str) -> bool:
    """Whether Spark was given the text by a function of this module."""
    return text.startswith(_MARK)


def log_lowered(text: str) -> None:
    """Logs lowered SQL to `sqlext.lowered` at level DEBUG."""
    _LOWERED.debug("%s", text)


def lowered_text(text: str) -> str:
    """The text with the mark, for a query that the shim makes."""
    return _MARK + text


def lowered_query(spark: SparkSession, text: str) -> DataFrame:
    """The query, which contains expressions of the running statement."""
    # PySpark's own `sql` makes a dozen calls to the JVM, most of them about parameters.
    return DataFrame(java_session(spark).sql(_MARK + text), spark)


def rows_for_columns(spark: SparkSession, text: str, defaults: Sequence[str], beside: str | None) -> DataFrame:
    """The query of an INSERT; a value DEFAULT is replaced by the SQL in `defaults` at its column's index.

    A column named `beside` is not counted.
    """
    session, shim = java_session(spark), shim_object(spark, "DefaultValues")
    return DataFrame(shim.rows(session, _MARK + text, list(defaults), beside), spark)


def lowered_change(spark: SparkSession, text: str) -> DataFrame:
    """The query of a change, whose conditions are deterministic and on one row.

    Raises Spark's errors, and AnalysisError for other conditions.
    """
    query = lowered_query(spark, text)
    shim_object(spark, "RowExpressions").requireConditions(java_rows(query))
    return query


def lowered_expression(text: str) -> Column:
    """An expression that contains text of the running statement."""
    return F.expr(_MARK + text)
