"""Detection of DataFrames of literals."""

from __future__ import annotations

from pyspark.sql import DataFrame

_LITERALS = ("LocalRelation", "OneRowRelation")


def are_literals(rows: DataFrame) -> bool:
    """Whether the rows are one list of literals or of values of the session, in its order."""
    execution = rows._jdf.queryExecution()
    leaves = execution.optimizedPlan().collectLeaves()
    if leaves.size() != 1 or leaves.head().nodeName() not in _LITERALS:
        return False
    return bool(rows.sparkSession._jvm.org.apache.spark.sql.sqlext.SparkInternals.keepsOrder(rows._jdf))
