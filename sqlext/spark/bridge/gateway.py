"""Attaching the Python side to a running Spark JVM."""

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
    """The one that `register` has attached to the application; None before that, and once it is stopped."""
    found = getattr(context, _ATTACHED, None)
    return found if isinstance(found, Bridge) else None


def register(spark: SparkSession, bridge: Bridge) -> None:
    """Makes `bridge` the one that answers the shim in this JVM, for as long as its SparkContext.

    Errors: UnsupportedError when the JVM was started without the shim's jar.
    """
    context = spark.sparkContext
    shim = context._jvm.io.sqlext.Bridge
    if not callable(getattr(shim, "register", None)) or "JavaPackage" in type(shim).__name__:
        raise UnsupportedError("SHIM_NOT_LOADED")
    _start_callback_server(context._gateway, context._jvm)
    shim.register(bridge)
    # The gateway stays when an application is stopped, and the next one has it too.
    before = getattr(context._gateway, _ATTACHED, None)
    if isinstance(before, Bridge):
        before.close()
    for owner in (context, context._gateway):
        setattr(owner, _ATTACHED, bridge)


def _start_callback_server(gateway: Any, jvm: Any) -> None:
    """Has Python answer this JVM and nobody else: any user of the machine can reach its port.

    PySpark's server asks for no token where threads are pinned to the JVM's, which is the default. Connections that are
    open already go on.
    """
    parameters = getattr(gateway, "python_parameters", None)
    if parameters is None or parameters.auth_token is not None:
        ensure_callback_server_started(gateway)
        return
    parameters.auth_token = gateway.gateway_parameters.auth_token
    ensure_callback_server_started(gateway)
    server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
    jvm.io.sqlext.CallbackToken.show(server, parameters.auth_token)
