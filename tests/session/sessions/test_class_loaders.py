"""The shim's jar in class loaders of Spark's JVM."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from sqlext.errors import UnsupportedError
from sqlext.spark.bridge.gateway import load_shim
from sqlext.spark.shim.java_objects import jvm
from sqlext.spark.shim.shim_jar import shim_jar


def test_a_jvm_whose_loader_takes_no_jars_is_refused(spark: SparkSession) -> None:
    thread = jvm(spark).java.lang.Thread.currentThread()
    before = thread.getContextClassLoader()
    thread.setContextClassLoader(before.getParent())  # that of the class path
    try:
        with pytest.raises(UnsupportedError, match="SHIM_NOT_LOADED"):
            load_shim(spark, shim_jar)
    finally:
        thread.setContextClassLoader(before)
    load_shim(spark, shim_jar)
