"""Detection of DataFrames of literals."""

from __future__ import annotations

from pyspark.sql import DataFrame

from sqlext.spark.shim.java_objects import java_rows, spark_internals

_LITERALS = ("LocalRelation", "OneRowRelation")


def are_literals(rows: DataFrame) -> bool:
    """Whether the rows are one list of literals or of values of the session, in its order."""
    execution = java_rows(rows).queryExecution()
    leaves = execution.optimizedPlan().collectLeaves()
    if leaves.size() != 1 or leaves.head().nodeName() not in _LITERALS:
        return False
    return bool(spark_internals(rows.sparkSession).keepsOrder(java_rows(rows)))
