"""Spark's own account of a query's plan, and of what it reads."""

from __future__ import annotations

from pyspark.sql import DataFrame


def explained_plan(rows: DataFrame, mode: str) -> str:
    """The text of EXPLAIN; `mode` is simple, extended, codegen, cost or formatted."""
    return str(rows.sparkSession._jvm.PythonSQLUtils.explainString(rows._jdf.queryExecution(), mode))


def read_bytes(rows: DataFrame) -> int:
    """The optimiser's estimate of what the query reads: of each table and relation, the columns and files left."""
    leaves = rows._jdf.queryExecution().optimizedPlan().collectLeaves()
    return sum(int(str(leaves.apply(number).stats().sizeInBytes())) for number in range(leaves.size()))
