"""Attaches the Python side to a running Spark JVM."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaObject, is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import ensure_callback_server_started, launch_gateway
from pyspark.sql import SparkSession

from sqlext.errors import UnsupportedError
from sqlext.spark.bridge.bridge import Bridge
from sqlext.spark.shim.java_objects import java_context, java_session, jvm

_ATTACHED = "_sqlext_bridge"
_BRIDGE = "io.sqlext.Bridge"
_TAKES_JARS = "org.apache.spark.util.MutableURLClassLoader"


def session_of_parent() -> SparkSession:
    """The session of the JVM that started this process, see `PythonProcess.scala`; its application is no other's."""
    gateway = launch_gateway()
    java = gateway.jvm
    session = java.org.apache.spark.sql.sqlext.PythonProcess.session()
    context = java.org.apache.spark.api.java.JavaSparkContext(session.sparkContext())
    conf = SparkConf(_jvm=java, _jconf=context.getConf())
    return SparkSession(SparkContext(gateway=gateway, jsc=context, conf=conf), session)


def attached_bridge(context: SparkContext | None) -> Bridge | None:
    """The bridge that `register` has attached to the application; None before that, and after it is stopped."""
    found = getattr(context, _ATTACHED, None)
    return found if isinstance(found, Bridge) else None


def load_shim(spark: SparkSession, jar: Callable[[], Path]) -> None:
    """Gives the JVM the shim's jar, if it lacks it.

    The application's own class loader gets it, also if a loader below it has it by ADD JAR: tasks ask the former, and a
    class of one loader is not that of another. Raises UnsupportedError SHIM_NOT_LOADED if that loader takes no jars, or
    the other one has used its own.
    """
    java, context = jvm(spark), spark.sparkContext
    lowest = java.java.lang.Thread.currentThread().getContextClassLoader()
    loaders, loader = [], lowest
    while loader is not None:
        if is_instance_of(context._gateway, loader, _TAKES_JARS):
            loaders.append(loader)
        loader = loader.getParent()
    application = loaders[-1] if loaders else lowest
    class_of = partial(java.java.lang.Class.forName, _BRIDGE, False)
    try:
        class_of(application)
    except Py4JJavaError:
        if not loaders:
            raise UnsupportedError("SHIM_NOT_LOADED") from None
        added = str(jar())
        application.addURL(java.java.io.File(added).toURI().toURL())
        java_context(context).addJar(added)
    if not class_of(application).equals(class_of(lowest)):
        raise UnsupportedError("SHIM_NOT_LOADED")


def ship_jars(spark: SparkSession) -> None:
    """Has executors get every jar that the application was submitted with.

    Spark adds those of `spark.jars.packages` to the setting `spark.jars` of the JVM; in PySpark the session's own
    `spark.jars`, which names the shim, then takes the place of both, and only the driver has the packages.
    """
    context = java_context(spark.sparkContext)
    submitted = jvm(spark).java.lang.System.getProperty("spark.jars") or ""
    listed = context.listJars().mkString("\n")
    there = {url.rpartition("/")[2] for url in listed.splitlines()}
    for jar in filter(None, submitted.split(",")):
        if jar.rpartition("/")[2] not in there:
            context.addJar(jar)


def make_whole(spark: SparkSession) -> None:
    """Gives the session what the shim injects into sessions, if it lacks it. Raises UnsupportedError
    SESSION_HAS_STREAMS."""
    live, session = jvm(spark).org.apache.spark.sql.sqlext.LiveSession, java_session(spark)
    if live.isWhole(session):
        return
    streams = list(live.runningStreams(session))
    if streams:
        raise UnsupportedError("SESSION_HAS_STREAMS", streams=", ".join(streams))
    live.makeWhole(session)


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
