"""What Spark has cached of a table is made anew once a statement has changed the table.

Whether cached rows may answer a query is not decided here: a query takes them where they are of the version that it
reads (the shim's `NewestVersions`). But Spark resolves the name of a cached table to the columns that were cached.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

_LOG = logging.getLogger("sqlext")
_BRANCH = "branch_"


def drop_caches(spark: SparkSession, table: Sequence[str]) -> None:
    """Caches of the table, by the parts of its whole name, and of queries on it go, and are not made anew."""
    cache = spark._jsparkSession.sharedState().cacheManager()
    if not cache.isEmpty():
        to_seq = spark._jvm.org.apache.spark.api.python.PythonUtils.toSeq
        cache.uncacheTableOrView(spark._jsparkSession, to_seq(list(table)), True, True)


def renew_caches(spark: SparkSession, table: Sequence[str]) -> None:
    """Caches of the table, by the parts of its whole name, and of queries on it; those of time travel stay.

    One that cannot be made anew is dropped, and all others with it: the statement has committed, and must not fail.
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
