"""Conversion of rows to a table's columns by Spark's store assignment."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from sqlext.errors import AnalysisError
from sqlext.spark.catalog.data_type import schema_to_spark
from sqlext.spark.shim.java_objects import java_rows, shim_object
from sqlext.spec.schema import Schema
from sqlext.sql.tokens.quoting import quote_name

_POLICY = "spark.sql.storeAssignmentPolicy"


def require_strict_policy(spark: SparkSession) -> None:
    """Raises AnalysisError for the session's policy LEGACY, which stores null for values that do not fit.

    Spark refuses it for all tables of its DataSource V2 interface.
    """
    policy = spark.conf.get(_POLICY)
    if policy.upper() == "LEGACY":
        raise AnalysisError("SETTING_INVALID", name=_POLICY, value=policy, allowed="ANSI or STRICT")


def is_ansi(spark: SparkSession) -> bool:
    """Whether values are assigned by Spark's default policy."""
    return str(spark.conf.get(_POLICY)).upper() == "ANSI"


def align(spark: SparkSession, rows: DataFrame, table: Sequence[str], schema: Schema, *, by_name: bool) -> DataFrame:
    """The rows in the schema's columns, order and types; with `by_name` a missing column is null.

    Raises Spark's AnalysisException for a column that does not fit, AnalysisError for the policy LEGACY.
    """
    require_strict_policy(spark)
    shim = shim_object(spark, "StoreAssignment")
    return DataFrame(
        shim.align(java_rows(rows), quote_name(table), json.dumps(schema_to_spark(schema)), by_name), spark
    )
