"""New rows with the index of the first constraint that each violates."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sqlext.command.check_definition import require_allowed
from sqlext.sql.row_rules import violated_rule
from sqlext.write.violated_rows import VIOLATED
from sqlext.write.write_plan import WritePlan


def with_violations(rows: DataFrame, plan: WritePlan, *, operations: bool = False) -> DataFrame:
    """The rows with a column `VIOLATED` for the write task, or unchanged if the table has no constraints.

    The column is `violated_rule`; `operations`: the rows begin with operation, file and position. Raises AnalysisError
    INVALID_CHECK_CONSTRAINT for a CHECK in the metadata with a function that is not allowed.
    """
    if not plan.rules:
        return rows
    for rule in plan.rules:
        if rule.limit is None:
            require_allowed(rows.sparkSession, rule.name, rule.test)
    return rows.select("*", F.expr(violated_rule(plan.rules, operations=operations)).alias(VIOLATED))
