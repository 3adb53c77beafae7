"""Attaching the Python side to a running Spark JVM."""

from __future__ import annotations

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from sqlext.errors import UnsupportedError
from sqlext.spark.bridge import Bridge


def register(spark: SparkSession, bridge: Bridge) -> None:
    """Makes `bridge` the one that answers the shim in this JVM.

    Errors: UnsupportedError when the JVM was started without the shim's jar.
    """
    context = spark.sparkContext
    ensure_callback_server_started(context._gateway)
    shim = context._jvm.io.sqlext.Bridge
    if not callable(getattr(shim, "register", None)) or "JavaPackage" in type(shim).__name__:
        raise UnsupportedError("SHIM_NOT_LOADED")
    shim.register(bridge)
