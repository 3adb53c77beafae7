"""The condition of a query as a predicate on field ids."""

from __future__ import annotations

import json

from pyspark.sql import DataFrame, SparkSession

from sqlext.spark.scan.pushdown import exact_predicate
from sqlext.spark.shim.java_objects import java_rows, shim_object
from sqlext.spec.expression import Predicate
from sqlext.spec.schema import Schema


def exact_filter(spark: SparkSession, query: DataFrame, schema: Schema) -> Predicate | None:
    """The predicate that selects the rows of `SELECT … FROM table WHERE …`; None if it cannot be expressed exactly.

    `schema` is the table's. Conditions with subqueries, functions or metadata columns cannot be expressed.
    """
    described = shim_object(spark, "ExactFilter").of(java_rows(query))
    return None if described is None else exact_predicate(json.loads(described), schema)
