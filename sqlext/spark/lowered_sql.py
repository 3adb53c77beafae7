"""SQL that stands in for a statement. By its mark the shim knows whose positions an error has, and puts them right."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from sqlext.errors import AnalysisError

_MARK = "/*sqlext*/"


def lowered_query(spark: SparkSession, text: str) -> DataFrame:
    """The query, which holds pieces of the statement that runs."""
    # PySpark's own `sql` makes a dozen calls to the JVM, most of them about parameters.
    return DataFrame(spark._jsparkSession.sql(_MARK + text), spark)


def lowered_change(spark: SparkSession, text: str) -> DataFrame:
    """The query of a change, whose values and conditions see one row. Errors: AnalysisError AGGREGATE_IN_CHANGE."""
    try:
        return lowered_query(spark, text)
    except AnalysisException as error:
        if error.getCondition() == "MISSING_GROUP_BY":
            raise AnalysisError("AGGREGATE_IN_CHANGE") from error
        raise


def lowered_expression(text: str) -> Column:
    """An expression, likewise."""
    return F.expr(_MARK + text)
