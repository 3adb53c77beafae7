"""The names of Spark's jobs in its UI. Those of statements are set in the JVM (`JobNames`), where they cost no call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from sqlext.spark.shim.java_objects import java_session, shim_object


@contextmanager
def named_jobs(spark: SparkSession, title: str) -> Iterator[None]:
    """While it lasts, the jobs that this thread starts have the title behind the description that they have anyway."""
    names, session = shim_object(spark, "JobNames"), java_session(spark)
    before = names.begin(session, title)
    try:
        yield
    finally:
        names.end(session, before)
