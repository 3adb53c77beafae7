"""Validation of CHECK constraints: Spark must accept each as a condition on one row."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StructType

from sqlext.errors import AnalysisError
from sqlext.spark.catalog.data_type import schema_to_spark
from sqlext.spark.shim.java_objects import java_rows, java_session, shim_object
from sqlext.spec.constraint import CHECK_PREFIX, CheckConstraint
from sqlext.spec.schema import Schema
from sqlext.sql.check_text import fault_of, variable_in
from sqlext.sql.row_rules import require_plain_check
from sqlext.sql.statements.statement import Check


def check_properties(
    spark: SparkSession,
    checks: Iterable[Check],
    schema: Schema,
    known: Sequence[CheckConstraint] = (),
    require: Callable[[SparkSession, str, str, Schema], None] | None = None,
) -> dict[str, str]:
    """The table properties that store the CHECKs; one without a name gets the next `check_<n>`. `require` tests each,
    by default as `require_condition`.

    Raises AnalysisError INVALID_CHECK_CONSTRAINT, CONSTRAINT_ALREADY_EXISTS for a name that occurs twice, and Spark's
    errors for a condition that it cannot analyse.
    """
    properties: dict[str, str] = {}
    taken = {one.name.lower() for one in known}
    for check in checks:
        name = check.name or next(n for n in map("check_{}".format, range(1, 10_000)) if n not in taken)
        if name.lower() in {key.removeprefix(CHECK_PREFIX).lower() for key in properties}:
            raise AnalysisError("CONSTRAINT_ALREADY_EXISTS", name=name, table="the new table")
        taken.add(name.lower())
        (require or require_condition)(spark, name, check.condition.text, schema)
        properties[CHECK_PREFIX + name] = check.condition.text
    return properties


def require_allowed(spark: SparkSession, name: str, expression: str) -> None:
    """Raises AnalysisError INVALID_CHECK_CONSTRAINT for an expression with other than deterministic built-in functions.

    Called for a new CHECK, and before Spark analyses one of the metadata, which another engine may have written.
    """
    reason = refused_expression(spark, expression)
    if reason is not None:
        raise AnalysisError("INVALID_CHECK_CONSTRAINT", name=name, reason=reason)


def refused_expression(spark: SparkSession, expression: str) -> str | None:
    """Why the expression may not be stored in a table, or None: it has other than deterministic built-in functions."""
    variable = variable_in(expression)
    if variable is not None:
        return variable
    found = json.loads(shim_object(spark, "CheckText").parts(java_session(spark), expression))
    return f"it is no expression: {found['error']}" if "error" in found else fault_of(found["parts"])


def require_condition(spark: SparkSession, name: str, expression: str, schema: Schema) -> None:
    """Raises AnalysisError INVALID_CHECK_CONSTRAINT unless the expression is a deterministic condition on a row."""
    require_plain_check(name, expression, schema)
    require_allowed(spark, name, expression)
    struct = StructType.fromJson(json.loads(json.dumps(schema_to_spark(schema))))
    tested = spark.createDataFrame([], struct).select(F.expr(expression))
    if not isinstance(tested.schema[0].dataType, BooleanType):
        reason = f"it gives {tested.schema[0].dataType.simpleString()}, not true or false"
        raise AnalysisError("INVALID_CHECK_CONSTRAINT", name=name, reason=reason)
    plan = java_rows(tested).queryExecution().analyzed()
    if not plan.deterministic() or "Project" not in plan.nodeName() or plan.child().children().nonEmpty():
        raise AnalysisError("INVALID_CHECK_CONSTRAINT", name=name, reason="it does not give one answer for one row")
