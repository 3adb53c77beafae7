"""Refresh of Spark's cached tables after a statement has changed a table.

The shim's `NewestVersions` decides whether a query may read cached rows, by the version that it reads. But Spark
resolves the name of a cached table to the columns at the time of caching.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from sqlext.spark.shim.java_objects import java_session, spark_internals

_BRANCH = "branch_"


def drop_caches(spark: SparkSession, table: Sequence[str]) -> None:
    """Drops caches of the table, named by its parts, and of queries on it."""
    spark_internals(spark).dropCaches(java_session(spark), list(table))


def renew_caches(spark: SparkSession, table: Sequence[str]) -> None:
    """Has the table, named by its parts, and queries on it cached again, except those with time travel.

    Caches that cannot be made anew are dropped, as all of the table are by Spark 4.0.
    """
    names = [table, table[:-1]] if table[-1].startswith(_BRANCH) else [table]
    for name in names:
        spark_internals(spark).renewCaches(java_session(spark), list(name))
