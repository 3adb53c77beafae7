"""The condition of a query as a predicate over field ids."""

from __future__ import annotations

import json

from pyspark.sql import DataFrame, SparkSession

from sqlext.spark.scan.pushdown import exact_predicate
from sqlext.spark.shim.shim_object import shim_object
from sqlext.spec.expression import Predicate
from sqlext.spec.schema import Schema


def exact_filter(spark: SparkSession, query: DataFrame, schema: Schema) -> Predicate | None:
    """What selects just the rows that the WHERE of `SELECT … FROM table WHERE …` does; None where that cannot be said.

    `schema` is the table's. Conditions with subqueries, functions or columns that no file holds are none.
    """
    described = shim_object(spark, "ExactFilter").of(query._jdf)
    return None if described is None else exact_predicate(json.loads(described), schema)
