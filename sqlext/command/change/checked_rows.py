"""New rows with the index of the first constraint that each violates."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sqlext.command.check_definition import require_allowed
from sqlext.sql.row_rules import computed_column, violated_rule
from sqlext.sql.tokens.quoting import quote_identifier
from sqlext.write.violated_rows import VIOLATED
from sqlext.write.write_plan import WritePlan


def with_violations(rows: DataFrame, plan: WritePlan, *, operations: bool = False) -> DataFrame:
    """The rows with their generated columns computed, and a column `VIOLATED` for the write task; unchanged if the
    table has no constraints.

    The column is `violated_rule`; `operations`: the rows begin with operation, file and position. Raises AnalysisError
    INVALID_CHECK_CONSTRAINT for a CHECK in the metadata with a function that is not allowed.
    """
    if not plan.rules:
        return rows
    for rule in plan.rules:
        if rule.limit is None:
            require_allowed(rows.sparkSession, rule.name, rule.test)
    computed = {rule.name: computed_column(rule, operations=operations) for rule in plan.rules if rule.generated}
    if computed:
        rows = rows.select(
            *(
                F.expr(computed[name]).alias(name) if name in computed else F.col(quote_identifier(name))
                for name in rows.columns
            )
        )
    return rows.select("*", F.expr(violated_rule(plan.rules, operations=operations)).alias(VIOLATED))
