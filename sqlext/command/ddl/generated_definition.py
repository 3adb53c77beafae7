"""Validation of generated columns: Spark must accept each as one value for one row, of the column's type."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from sqlext.command.check_definition import refused_expression
from sqlext.errors import AnalysisError
from sqlext.spark.catalog.data_type import schema_to_spark
from sqlext.spark.shim.java_objects import java_rows
from sqlext.spec.constraint import generated_columns
from sqlext.spec.schema import Schema
from sqlext.spec.types import NestedField
from sqlext.sql.row_rules import checked_columns, foreign_column, generated_names, identity_names
from sqlext.sql.tokens.quoting import quote_identifier

_WAY_OUT = "Write a deterministic expression over the other columns of one row"


def require_generated(spark: SparkSession, schema: Schema, properties: Mapping[str, str]) -> None:
    """Raises AnalysisError INVALID_GENERATED_COLUMN for a generated column that cannot be one, and Spark's errors for
    an expression that it cannot analyse."""
    generated, names = generated_columns(properties), generated_names(schema, properties)
    for field in schema.fields:
        if field.id in generated:
            _require(spark, schema, field, generated[field.id], names, identity_names(schema, properties))


def _require(
    spark: SparkSession,
    schema: Schema,
    field: NestedField,
    expression: str,
    names: frozenset[str],
    identities: frozenset[str],
) -> None:
    if field.required:
        reason, way_out = (
            "it is NOT NULL, or part of the key",
            f"Write CHECK ({field.name} IS NOT NULL), or a plain column",
        )
        raise AnalysisError("INVALID_GENERATED_COLUMN", column=field.name, reason=reason, way_out=way_out)
    fault = foreign_column(expression, schema) or refused_expression(spark, expression)
    columns = checked_columns(schema, expression)
    for kind, known in (("generated", names), ("identity", identities)):
        others = sorted(known & {*columns})
        if fault is None and others:
            fault = f"it is computed from the {kind} column {others[0]}"
    if fault is not None:
        raise AnalysisError("INVALID_GENERATED_COLUMN", column=field.name, reason=fault, way_out=_WAY_OUT)
    struct = StructType.fromJson(json.loads(json.dumps(schema_to_spark(schema))))
    nothing = spark.createDataFrame([], struct)
    tested = nothing.select(F.expr(expression), F.expr(f"{quote_identifier(field.name)} <=> ({expression}\n)"))
    plan = java_rows(tested).queryExecution().analyzed()
    if not plan.deterministic() or "Project" not in plan.nodeName() or plan.child().children().nonEmpty():
        reason = "it does not give one answer for one row"
        raise AnalysisError("INVALID_GENERATED_COLUMN", column=field.name, reason=reason, way_out=_WAY_OUT)
    found, wanted = tested.schema[0].dataType.simpleString(), struct[field.name].dataType.simpleString()
    if found != wanted:
        reason, way_out = f"its expression is of the type {found}", f"Write CAST({expression} AS {wanted.upper()})"
        raise AnalysisError("INVALID_GENERATED_COLUMN", column=field.name, reason=reason, way_out=way_out)
