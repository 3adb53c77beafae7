"""Temporary views, which names of one part refer to before views of a catalog."""

from __future__ import annotations

from pyspark.sql import SparkSession

from sqlext.errors import AnalysisError
from sqlext.spark.shim.java_objects import java_session
from sqlext.sql.statements.statement import TableName


def is_temporary(spark: SparkSession, name: TableName) -> bool:
    """Whether the name, as written, is that of a temporary view."""
    if len(name.written) != 1:
        return False
    return bool(_session_catalog(spark).getTempView(name.table).isDefined())


def require_permanent(spark: SparkSession, name: TableName) -> None:
    """Raises AnalysisError EXPECT_PERMANENT_VIEW_NOT_TEMP for the name of a temporary view."""
    if is_temporary(spark, name):
        raise AnalysisError("EXPECT_PERMANENT_VIEW_NOT_TEMP", name=name.table)


def require_no_temporary_view(spark: SparkSession, name: TableName, statement: str) -> None:
    """Raises AnalysisError EXPECT_TABLE_NOT_TEMPORARY_VIEW if the target of a statement is a temporary view."""
    if is_temporary(spark, name):
        raise AnalysisError("EXPECT_TABLE_NOT_TEMPORARY_VIEW", name=name.table, statement=statement)


def temporary_views(spark: SparkSession) -> list[str]:
    """Sorted names of the session's temporary views."""
    found = _session_catalog(spark).listLocalTempViews("*")
    return sorted(found.apply(index).table() for index in range(found.size()))


def _session_catalog(spark: SparkSession):  # type: ignore[no-untyped-def]  # a Java object
    return java_session(spark).sessionState().catalog()
