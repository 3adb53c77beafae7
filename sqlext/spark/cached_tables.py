"""What Spark has cached of a table is made anew once a statement has changed the table.

Spark answers a query on a cached table from its cache, however old; its own writes see to this themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

_BRANCH = "branch_"


def renew_caches(spark: SparkSession, table: Sequence[str]) -> None:
    """Caches of the table, by the parts of its whole name, and of queries on it; those of time travel stay."""
    cache = spark._jsparkSession.sharedState().cacheManager()
    if cache.isEmpty():
        return
    to_seq = spark._jvm.org.apache.spark.api.python.PythonUtils.toSeq
    names = [list(table)]
    if table[-1].startswith(_BRANCH):
        names.append(list(table[:-1]))
    for name in names:
        cache.recacheTableOrView(spark._jsparkSession, to_seq(name), False)
