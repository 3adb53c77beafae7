"""Attaches the Python side to a running Spark JVM."""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaObject
from pyspark import SparkContext
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from sqlext.errors import UnsupportedError
from sqlext.spark.bridge.bridge import Bridge

_ATTACHED = "_sqlext_bridge"


def attached_bridge(context: SparkContext | None) -> Bridge | None:
    """The bridge that `register` has attached to the application; None before that, and after it is stopped."""
    found = getattr(context, _ATTACHED, None)
    return found if isinstance(found, Bridge) else None


def register(spark: SparkSession, bridge: Bridge) -> None:
    """Attaches `bridge` to this JVM, for the life of its SparkContext.

    Raises UnsupportedError if the JVM was started without the shim's jar.
    """
    context = spark.sparkContext
    shim = context._jvm.io.sqlext.Bridge
    if not callable(getattr(shim, "register", None)) or "JavaPackage" in type(shim).__name__:
        raise UnsupportedError("SHIM_NOT_LOADED")
    _start_callback_server(context._gateway, context._jvm)
    shim.register(bridge)
    # The next application of a process has the same gateway.
    before = getattr(context._gateway, _ATTACHED, None)
    if isinstance(before, Bridge):
        before.close()
    for owner in (context, context._gateway):
        setattr(owner, _ATTACHED, bridge)


def _start_callback_server(gateway: Any, jvm: Any) -> None:
    """Starts PySpark's callback server with a token, since any user of the machine can connect to its port.

    By default, with pinned threads, PySpark requires no token. Open connections are not affected.
    """
    parameters = getattr(gateway, "python_parameters", None)
    if parameters is None or parameters.auth_token is not None:
        ensure_callback_server_started(gateway)
        return
    parameters.auth_token = gateway.gateway_parameters.auth_token
    ensure_callback_server_started(gateway)
    server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
    jvm.io.sqlext.CallbackToken.show(server, parameters.auth_token)
