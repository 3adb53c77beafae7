"""Spark's own account of a query's plan."""

from __future__ import annotations

from pyspark.sql import DataFrame


def explained_plan(rows: DataFrame, mode: str) -> str:
    """The text of EXPLAIN; `mode` is simple, extended, codegen, cost or formatted."""
    return str(rows.sparkSession._jvm.PythonSQLUtils.explainString(rows._jdf.queryExecution(), mode))
