"""Attaches the Python side to a running Spark JVM."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaObject, is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from sqlext.errors import UnsupportedError
from sqlext.spark.bridge.bridge import Bridge
from sqlext.spark.shim.java_objects import java_context, java_session, jvm

_ATTACHED = "_sqlext_bridge"
_BRIDGE = "io.sqlext.Bridge"
_TAKES_JARS = "org.apache.spark.util.MutableURLClassLoader"


def attached_bridge(context: SparkContext | None) -> Bridge | None:
    """The bridge that `register` has attached to the application; None before that, and after it is stopped."""
    found = getattr(context, _ATTACHED, None)
    return found if isinstance(found, Bridge) else None


def add_shim(spark: SparkSession, jar: Callable[[], Path]) -> None:
    """Gives the JVM the shim's jar, and the session what the shim injects into sessions, as far as they lack it.

    Raises UnsupportedError SHIM_NOT_LOADED if the JVM's class loader takes no jars, and SESSION_HAS_STREAMS.
    """
    java = jvm(spark)
    _load(spark, jar)
    live = java.org.apache.spark.sql.sqlext.LiveSession
    if not live.isWhole(java_session(spark)):
        streams = list(live.runningStreams(java_session(spark)))
        if streams:
            raise UnsupportedError("SESSION_HAS_STREAMS", streams=", ".join(streams))
        live.makeWhole(java_session(spark))


def _load(spark: SparkSession, jar: Callable[[], Path]) -> None:
    """Has the application's own class loader know the shim, also if a loader below it does by ADD JAR: tasks ask the
    former, and a class of one loader is not that of another."""
    java, context = jvm(spark), spark.sparkContext
    loaders = []
    loader = java.java.lang.Thread.currentThread().getContextClassLoader()
    while loader is not None:
        if is_instance_of(context._gateway, loader, _TAKES_JARS):
            loaders.append(loader)
        loader = loader.getParent()
    try:
        java.java.lang.Class.forName(_BRIDGE, False, loaders[-1] if loaders else None)
    except Py4JJavaError:
        if not loaders:
            raise UnsupportedError("SHIM_NOT_LOADED") from None
        added = str(jar())
        loaders[-1].addURL(java.java.io.File(added).toURI().toURL())
        java_context(context).addJar(added)
    application = java.java.lang.Class.forName(_BRIDGE, False, loaders[-1])
    if not application.equals(java.java.lang.Class.forName(_BRIDGE, False, loaders[0])):
        raise UnsupportedError("SHIM_NOT_LOADED")


def register(spark: SparkSession, bridge: Bridge) -> None:
    """Attaches `bridge` to this JVM, which has the shim, for the life of its SparkContext."""
    context = spark.sparkContext
    _start_callback_server(context._gateway, context._jvm)
    context._jvm.io.sqlext.Bridge.register(bridge)
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
