"""Rows into a table's columns by Spark's own store-assignment rules."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from sqlext.errors import AnalysisError
from sqlext.spark.catalog.data_type import schema_to_spark
from sqlext.spark.shim.shim_object import shim_object
from sqlext.spec.schema import Schema

_POLICY = "spark.sql.storeAssignmentPolicy"


def require_strict_policy(spark: SparkSession) -> None:
    """AnalysisError where the session has the policy LEGACY, under which values that do not fit become null.

    Spark refuses it for any table of its second interface.
    """
    policy = spark.conf.get(_POLICY)
    if policy.upper() == "LEGACY":
        raise AnalysisError("SETTING_INVALID", name=_POLICY, value=policy, allowed="ANSI or STRICT")


def is_ansi(spark: SparkSession) -> bool:
    """Whether values are assigned by the rules that Spark has by default."""
    return str(spark.conf.get(_POLICY)).upper() == "ANSI"


def align(spark: SparkSession, rows: DataFrame, table: Sequence[str], schema: Schema, *, by_name: bool) -> DataFrame:
    """The rows in the schema's columns, order and types; by name a missing column is null.

    Spark's own AnalysisException tells of a column that does not fit; AnalysisError for the policy LEGACY.
    """
    require_strict_policy(spark)
    quoted = ".".join(f"`{part}`" for part in table)
    shim = shim_object(spark, "StoreAssignment")
    return DataFrame(shim.align(rows._jdf, quoted, json.dumps(schema_to_spark(schema)), by_name), spark)
