"""Refresh of Spark's cached tables after a statement has changed a table.

The shim's `NewestVersions` decides whether a query may read cached rows, by the version that it reads. But Spark
resolves the name of a cached table to the columns at the time of caching.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

_LOG = logging.getLogger("sqlext")
_BRANCH = "branch_"


def drop_caches(spark: SparkSession, table: Sequence[str]) -> None:
    """Drops caches of the table, named by its parts, and of queries on it."""
    cache = spark._jsparkSession.sharedState().cacheManager()
    if not cache.isEmpty():
        to_seq = spark._jvm.org.apache.spark.api.python.PythonUtils.toSeq
        cache.uncacheTableOrView(spark._jsparkSession, to_seq(list(table)), True, True)


def renew_caches(spark: SparkSession, table: Sequence[str]) -> None:
    """Caches the table, named by its parts, and queries on it again, except those with time travel.

    If that fails, all caches are dropped, since the statement is committed and must not fail.
    """
    cache = spark._jsparkSession.sharedState().cacheManager()
    if cache.isEmpty():
        return
    to_seq = spark._jvm.org.apache.spark.api.python.PythonUtils.toSeq
    names = [list(table)]
    if table[-1].startswith(_BRANCH):
        names.append(list(table[:-1]))
    try:
        for name in names:
            cache.recacheTableOrView(spark._jsparkSession, to_seq(name), False)
    except Py4JJavaError as failure:
        _LOG.warning("the caches of %s cannot be made anew, and all are dropped", ".".join(table), exc_info=failure)
        cache.clearCache()
