"""Spark sessions with sqlext, in a Python driver."""

from __future__ import annotations

import logging
import os
import random
import sys
import time
import warnings
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from sqlext.any_session import catalog_class
from sqlext.catalog.catalog import Catalog
from sqlext.catalog.catalog_settings import open_catalog
from sqlext.catalog.static_table import load_static_table
from sqlext.command.care_tasks import CareTasks
from sqlext.command.changelog.changes import ChangeFeed
from sqlext.command.changelog.changes_clause import ChangesClause
from sqlext.command.changelog.told_changes import TableChanges
from sqlext.command.ddl.table_changes import TableDefinitions
from sqlext.command.environment import Environment
from sqlext.commit.group.group_committers import GroupCommitters
from sqlext.commit.loop.attempt_queue import AttemptQueue
from sqlext.commit.loop.pace import RetryPace
from sqlext.dispatch.shim_calls import ShimCalls
from sqlext.errors import UnsupportedError
from sqlext.scan.deletes.position_delete import PositionDeleteCache
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spark.bridge import interrupts
from sqlext.spark.bridge.bridge import Bridge, Question
from sqlext.spark.bridge.catalog_bridge import CatalogBridge
from sqlext.spark.bridge.gateway import attached_bridge, load_shim, make_whole, register, ship_jars
from sqlext.spark.bridge.keyed_scan import KeyedScan
from sqlext.spark.bridge.refusals import (
    refuse_catalog_class,
    refuse_catalog_option,
    refuse_continuous_stream,
    refuse_expression,
    refuse_nested_column,
    refuse_session,
    refuse_taken_name,
    refuse_temporary_view,
)
from sqlext.spark.bridge.row_lookup import RowLookup
from sqlext.spark.bridge.scan_bridge import ScanBridge
from sqlext.spark.bridge.statement_errors import error_places
from sqlext.spark.catalog.hadoop_storage import configure_s3a
from sqlext.spark.catalog.open_catalogs import OpenCatalogs
from sqlext.spark.catalog.remembered_metadata import RememberedMetadata
from sqlext.spark.catalog.session_catalogs import Catalogs
from sqlext.spark.catalog.session_table import SparkNames
from sqlext.spark.executor_task import is_local
from sqlext.spark.scan.executor_reader import ExecutorReader
from sqlext.spark.scan.metadata_answers import MetadataAnswers
from sqlext.spark.session.open_transactions import OpenTransactions
from sqlext.spark.session.session_settings import MANIFEST_CACHE, MANIFESTS_ON_DRIVER, require_settings
from sqlext.spark.session.shown_progress import ShownProgress
from sqlext.spark.shim.java_objects import active_context, builder_options, is_stopped, settings_of
from sqlext.spark.shim.shim_jar import shim_jar
from sqlext.storage.clock import system_clock
from sqlext.storage.location import is_object
from sqlext.storage.scheme_io import SchemeIO
from sqlext.streaming.sink import StreamingSink
from sqlext.streaming.source import StreamingSource
from sqlext.write.merged_file import merge_data_files

# PySpark logs each failed statement with its Java stack, besides raising the error.
_STACK_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")

# Settings whose values Spark's UI and event log hide: Spark's default, and the `credential` of a REST catalog.
_REDACTION = "spark.redaction.regex"
_HIDDEN = "(?i)secret|password|token|access[.]?key|credential"

_CATALOGS = "spark.sql.catalog."
_REMOTE, _PYTHON = "spark.remote", "spark.sqlext.python"


class SessionBuilder(SparkSession.Builder):  # type: ignore[misc]  # pyspark's types are not followed
    """Spark's builder, which also attaches the Python side to its sessions."""

    def getOrCreate(self) -> SparkSession:
        """The session that Spark's builder creates or finds. Raises UnsupportedError if a running JVM lacks the shim,
        and AnalysisError CATALOG_IS_OPEN for other settings of an open catalog, SETTING_UNKNOWN or SETTING_INVALID."""
        # Refused before there is a JVM, which would keep them for all of its applications.
        require_settings(builder_options(self))
        if _REMOTE in builder_options(self):
            return self._client_of_own_server()
        attached = attached_bridge(active_context())
        if attached is not None:
            attached.catalogs.opened.require_settings(_catalog_options(builder_options(self)))
        return attach(super().getOrCreate())

    def _client_of_own_server(self) -> Any:
        """A client of a Connect server in a JVM of this process, which starts the Python side as other servers do."""
        if _PYTHON not in builder_options(self):
            self.config(_PYTHON, sys.executable)
        with warnings.catch_warnings():
            # PySpark gives the client the settings with which it has started the server, too.
            warnings.filterwarnings("ignore", "Failed to set spark", UserWarning)
            return super().getOrCreate()


def _catalog_options(settings: Mapping[str, Any]) -> Mapping[str, Mapping[str, str]]:
    """The options of each catalog among a session's settings, by the catalog's name."""
    options: dict[str, dict[str, str]] = {}
    for key, value in settings.items():
        name, _, option = key.removeprefix(_CATALOGS).partition(".")
        if key.startswith(_CATALOGS) and option:
            options.setdefault(name, {})[option] = str(value)
    return options


def configure(builder: SparkSession.Builder, **warehouses: str | Path) -> SparkSession.Builder:
    """A builder like `builder` whose sessions have sqlext and a catalog for each `name=warehouse folder`.

    The settings `spark.sql.catalog.<name>=io.sqlext.Catalog` and `spark.sql.catalog.<name>.warehouse=<folder>` define a
    catalog too. The name `spark_catalog` is that of Spark's session catalog, whose other tables and databases stay
    Spark's; its class is `io.sqlext.SessionCatalog`.

    A builder with `remote("local")` has its sessions be clients of Spark Connect, whose server is in this process.
    Raises UnsupportedError CONNECT_CLIENT for another server, which has sqlext and catalogs by settings of its own.

        >>> from pyspark.sql import SparkSession
        >>> spark = sqlext.configure(SparkSession.builder, depot="./depot").getOrCreate()
    """
    configured = SessionBuilder()
    options = builder_options(builder)
    if not str(options.get(_REMOTE, "local")).startswith("local"):
        raise UnsupportedError("CONNECT_CLIENT")
    jars = ",".join(filter(None, [options.get("spark.jars", ""), str(shim_jar())]))
    for key, value in {_REDACTION: _HIDDEN, **options, "spark.jars": jars}.items():
        configured.config(key, value)
    for name, warehouse in warehouses.items():
        configured.config(f"spark.sql.catalog.{name}", catalog_class(name))
        where = str(warehouse) if is_object(str(warehouse)) else str(Path(warehouse).absolute())
        configured.config(f"spark.sql.catalog.{name}.warehouse", where)
    return configured


def session(
    *, master: str = "local[*]", conf: Mapping[str, Any] | None = None, **warehouses: str | Path
) -> SparkSession:
    """A running session with a catalog for each `name=warehouse folder`; `conf` has further Spark settings.

    A session that runs already is returned, with the catalogs added.

        >>> spark = sqlext.session(shop="./warehouse", conf={"spark.sql.session.timeZone": "UTC"})
        >>> _ = spark.sql("CREATE NAMESPACE IF NOT EXISTS shop.db")
        >>> _ = spark.sql("CREATE TABLE shop.db.t (id INT, v STRING, PRIMARY KEY (id))")
    """
    builder = SparkSession.builder.master(master)
    for key, value in (conf or {}).items():
        builder = builder.config(key, value)
    return configure(builder, **warehouses).getOrCreate()


def attach(spark: SparkSession) -> SparkSession:
    """Makes a running session one of sqlext, and returns it: it gets the shim's jar, parser and rules if it lacks them.

    An application has one Python side, which holds the open catalogs and transactions of all its sessions: a second
    call for a session does nothing. Raises UnsupportedError SHIM_NOT_LOADED if the JVM cannot load the jar any more,
    SESSION_HAS_STREAMS if the session lacks the rules and has streaming queries running, SESSION_STOPPED, and
    CONNECT_CLIENT for a client of Spark Connect.

        >>> spark = sqlext.attach(spark)
        >>> spark.conf.set("spark.sql.catalog.archive", "io.sqlext.Catalog")
        >>> spark.conf.set("spark.sql.catalog.archive.warehouse", "./archive")
    """
    if not isinstance(spark, SparkSession):
        raise UnsupportedError("CONNECT_CLIENT")
    if is_stopped(spark):
        raise UnsupportedError("SESSION_STOPPED")
    if attached_bridge(spark.sparkContext) is not None:
        make_whole(spark)
        return spark
    settings = settings_of(spark)
    require_settings(settings)
    load_shim(spark, shim_jar)
    make_whole(spark)
    context = spark.sparkContext
    if str(context.master).startswith("local") and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable  # local-cluster's executors are on this machine too
    if not is_local(context):
        ship_jars(spark)
    for name in _STACK_LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    io = SchemeIO()

    def open_told(name: str, options: Mapping[str, str]) -> Catalog:
        configure_s3a(spark, options.get("warehouse", ""), options)
        return open_catalog(name, options, partial(configure_s3a, spark))

    catalogs = Catalogs(OpenCatalogs(open_told, SparkNames(spark)), RememberedMetadata(), io)
    manifests = ManifestCache(
        MANIFEST_CACHE.of(settings),
        elsewhere=ExecutorReader(spark.sparkContext),
        driver_bytes=MANIFESTS_ON_DRIVER.of(settings),
    )
    scans = ScanBridge(catalogs, manifests, PositionDeleteCache())
    answers = MetadataAnswers(catalogs, manifests)
    rng, queue = random.Random(), AttemptQueue()
    transactions = OpenTransactions(
        catalogs, rng, lambda: RetryPace(system_clock, rng, time.sleep, {}, None).status_checks(), system_clock
    )
    groups = GroupCommitters(clock=system_clock, rng=rng, sleep=time.sleep, queue=queue, merge=merge_data_files)
    environment = Environment(
        catalogs,
        scans,
        clock=system_clock,
        rng=rng,
        sleep=time.sleep,
        transactions=transactions,
        queue=queue,
        groups=groups,
        care=CareTasks(system_clock),
    )
    calls = ShimCalls(environment, ShownProgress(settings))
    feed = ChangeFeed(environment)
    source = StreamingSource(environment)
    catalog_bridge = CatalogBridge(
        catalogs,
        transactions,
        scans,
        TableDefinitions(environment),
        lambda path: load_static_table(path, io),
        feed.view,
    )
    questions: dict[str, Question] = {
        **catalog_bridge.questions(),
        "error places": error_places,
        "first look": calls.first_look,
        "parse": calls.parse,
        "plan scan": scans.plan_files,
        "read by tasks": scans.read_by_tasks,
        "rows of keys": KeyedScan(catalogs, scans).rows,
        "stream batch": source.batch,
        "stream head": source.head,
        "stream offset": source.offset,
        "stream source": source.describe,
        "stream stopped": source.stopped,
        "changes clause": ChangesClause(feed).sql,
        "table changes": TableChanges(environment).sql,
        "answered filters": answers.answered_filters,
        "aggregate": answers.aggregate,
        "column statistics": answers.column_statistics,
        "evolved structs": scans.evolved_structs,
        "metadata rows": scans.metadata_rows,
        "result schema": calls.result_schema,
        "refuse catalog class": refuse_catalog_class,
        "refuse catalog option": refuse_catalog_option,
        "refuse continuous stream": refuse_continuous_stream,
        "refuse expression": refuse_expression,
        "refuse nested column": refuse_nested_column,
        "refuse session": refuse_session,
        "refuse taken name": refuse_taken_name,
        "refuse temporary view": refuse_temporary_view,
    }
    commands = {
        "create": calls.create,
        "micro batch": StreamingSink(environment).write,
        "row change": calls.row_change,
        "statement": calls.statement,
        "write": calls.write,
    }
    lookup = RowLookup(catalogs, transactions, scans)
    register(spark, Bridge(spark, catalogs, lookup, questions, commands, groups.close))
    interrupts.install(active_context)
    return spark
