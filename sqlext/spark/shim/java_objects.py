"""The JVM's objects behind PySpark's, and the shim's.

PySpark keeps these to itself, and nothing public leads to the JVM. Only this module and `bridge.gateway` touch private
attributes of PySpark; `tests/test_layering.py` checks that. They are the same in PySpark 4.0 to 4.3.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

# Spark's own JSON writer, which is there before the shim's jar is.
_JSON = "com.fasterxml.jackson.databind"


def java_session(spark: SparkSession) -> Any:
    """The `org.apache.spark.sql.classic.SparkSession`."""
    return spark._jsparkSession


def java_rows(rows: DataFrame) -> Any:
    """The `org.apache.spark.sql.classic.Dataset`."""
    return rows._jdf


def java_context(context: SparkContext) -> Any:
    """The `org.apache.spark.SparkContext`."""
    return context._jsc.sc()


def active_context() -> SparkContext | None:
    """The SparkContext that runs in this process."""
    return SparkContext._active_spark_context


def clone_of(spark: SparkSession) -> SparkSession:
    """A session of the same application with the same settings and catalogs."""
    return SparkSession(spark.sparkContext, spark_internals(spark).cloneOf(java_session(spark)))


def is_stopped(spark: SparkSession) -> bool:
    """Whether the session's application has ended."""
    return spark.sparkContext._jsc is None


def settings_of(spark: SparkSession) -> dict[str, str]:
    """All settings of the session, read as one text: PySpark's `conf.getAll` calls the JVM several times for each."""
    writer = _found_in(jvm(spark), _JSON, "ObjectMapper")()
    settings: dict[str, str] = json.loads(writer.writeValueAsString(java_session(spark).conf().getAllAsJava()))
    return settings


def builder_options(builder: SparkSession.Builder) -> dict[str, Any]:
    """The settings that a session's builder has been given so far, which may be changed."""
    options: dict[str, Any] = builder._options
    return options


def jvm(spark: SparkSession) -> Any:
    """Packages of the JVM, by attribute."""
    return spark.sparkContext._jvm


def shim_object(spark: SparkSession, name: str) -> Any:
    """The Scala object `io.sqlext.<name>`."""
    return _found_in(jvm(spark), "io.sqlext", name)


def spark_internals(spark: SparkSession) -> Any:
    """The shim's object for what Spark keeps to its own packages."""
    return _found_in(jvm(spark), "org.apache.spark.sql.sqlext", "SparkInternals")


@lru_cache(maxsize=32)
def _found_in(packages: Any, package: str, name: str) -> Any:
    # Each attribute is a call to the JVM that looks for a class or package.
    for part in (*package.split("."), name):
        packages = getattr(packages, part)
    return packages
