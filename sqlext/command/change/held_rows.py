"""Rows about to be written, beside each the number of the first rule of the table that it breaks."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sqlext.command.check_definition import require_allowed
from sqlext.sql.row_rules import violated_rule
from sqlext.write.violated_rows import VIOLATED
from sqlext.write.write_plan import WritePlan


def hold(rows: DataFrame, plan: WritePlan, *, operations: bool = False) -> DataFrame:
    """The rows, with the column that a write task looks at where the table has rules; see `violated_rule`.

    A table without rules has its rows as they are. AnalysisError INVALID_CHECK_CONSTRAINT where the metadata has a
    CHECK that may not run here.
    """
    if not plan.rules:
        return rows
    for rule in plan.rules:
        if rule.limit is None:
            require_allowed(rows.sparkSession, rule.name, rule.test)
    return rows.select("*", F.expr(violated_rule(plan.rules, operations=operations)).alias(VIOLATED))
