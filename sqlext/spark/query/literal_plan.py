"""Whether the rows of a DataFrame stand in its plan, in their order."""

from __future__ import annotations

from pyspark.sql import DataFrame

_LITERALS = ("LocalRelation", "OneRowRelation")


def are_literals(rows: DataFrame) -> bool:
    """Whether they are one list of literals, or of values of the session, that nothing has moved since."""
    execution = rows._jdf.queryExecution()
    leaves = execution.optimizedPlan().collectLeaves()
    if leaves.size() != 1 or leaves.head().nodeName() not in _LITERALS:
        return False
    return bool(rows.sparkSession._jvm.org.apache.spark.sql.sqlext.SparkInternals.keepsOrder(rows._jdf))
