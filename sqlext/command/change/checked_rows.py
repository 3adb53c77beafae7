"""New rows with the index of the first constraint that each violates, marked to get values of identity columns."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sqlext.command.check_definition import require_allowed
from sqlext.spec.constraint import RowRule
from sqlext.sql.row_rules import computed_column, violated_rule
from sqlext.sql.tokens.quoting import quote_identifier
from sqlext.write.violated_rows import TASKS, VIOLATED
from sqlext.write.write_plan import WritePlan


def with_violations(
    rows: DataFrame, plan: WritePlan, *, operations: bool = False, keeps_identities: bool = False
) -> DataFrame:
    """The rows with their generated columns computed, and a column `VIOLATED` for the write task; unchanged if the
    table has no constraints.

    The column is `violated_rule`, by both arguments; `operations`: the rows begin with operation, file and position.
    Raises AnalysisError INVALID_CHECK_CONSTRAINT for a CHECK in the metadata with a function that is not allowed.
    """
    if not plan.rules:
        return rows
    for rule in plan.rules:
        if rule.limit is None and rule.identity is None and rule.generated is None:
            require_allowed(rows.sparkSession, rule.name, rule.test)
    rows = with_generated(rows, plan.rules, operations=operations)
    violated = violated_rule(plan.rules, operations=operations, keeps_identities=keeps_identities)
    return with_task_count(rows.select("*", F.expr(violated).alias(VIOLATED)), plan)


def with_generated(rows: DataFrame, rules: Sequence[RowRule], *, operations: bool = False) -> DataFrame:
    """The rows with their generated columns computed where they have no value; `operations` as in `with_violations`.
    Raises AnalysisError INVALID_CHECK_CONSTRAINT for an expression in the metadata that is not allowed."""
    generated = [rule for rule in rules if rule.generated is not None]
    for rule in generated:
        require_allowed(rows.sparkSession, rule.name, rule.test)
    computed = {rule.name: F.expr(computed_column(rule, operations=operations)).alias(rule.name) for rule in generated}
    if not computed:
        return rows
    return rows.select(*(computed.get(name, F.col(quote_identifier(name))) for name in rows.columns))


def with_task_count(rows: DataFrame, plan: WritePlan, *, are_new: bool = True) -> DataFrame:
    """The rows with a column `TASKS` for the write task, if the table has identity columns. It is 1, as if one task
    wrote all; a job of several puts their number there. Unless the rows `are_new`, it is null, and they stay."""
    counts = any(rule.identity is not None for rule in plan.rules)
    return rows.select("*", F.lit(1 if are_new else None).cast("int").alias(TASKS)) if counts else rows
