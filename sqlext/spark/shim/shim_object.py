"""Access to the shim's Scala objects."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pyspark.sql import SparkSession


def shim_object(spark: SparkSession, name: str) -> Any:
    """The Scala object `io.sqlext.<name>`."""
    return _found_in(spark.sparkContext._jvm, name)


@lru_cache(maxsize=16)
def _found_in(jvm: Any, name: str) -> Any:
    # Each attribute is a call to the JVM that looks for a class or package.
    return getattr(jvm.io.sqlext, name)
