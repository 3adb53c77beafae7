"""Spark's plan of a query, as text, and its estimate of the bytes read."""

from __future__ import annotations

from pyspark.sql import DataFrame

from sqlext.spark.shim.java_objects import java_rows, jvm


def explained_plan(rows: DataFrame, mode: str) -> str:
    """The text of Spark's EXPLAIN; `mode` is simple, extended, codegen, cost or formatted."""
    return str(jvm(rows.sparkSession).PythonSQLUtils.explainString(java_rows(rows).queryExecution(), mode))


def read_bytes(rows: DataFrame) -> int:
    """The optimiser's estimate of the bytes that the query reads, after column and file pruning."""
    leaves = java_rows(rows).queryExecution().optimizedPlan().collectLeaves()
    return sum(int(str(leaves.apply(number).stats().sizeInBytes())) for number in range(leaves.size()))
