"""The one session that tests, golden files and notebooks under test share: two cores, UTC, no UI."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

import sqlext
from drivers.spark_servers import JAVA_OPTIONS

_CODE = "spark.sql.codegen.factoryMode"


def open_session(warehouse: Path) -> SparkSession:
    """A session whose catalog `lake` keeps its tables in `warehouse`, with these `settings`.

    New tables do not look after themselves, so that tests see the files that their statements write.
    """
    conf = {**settings(), "spark.sql.catalog.lake.care": "none"}
    return sqlext.session(lake=str(warehouse), master="local[2]", conf=conf)


def settings() -> dict[str, str]:
    """Spark's settings of that session, beside its catalogs; the process's zone becomes UTC.

    Spark interprets expressions, as compiling them takes a quarter of a run's CPU, unless `SQLEXT_TESTS_COMPILE` is 1,
    as in `tests/run.py --long` and `tests/matrix/run.py`. Sessions of other processes have Spark's defaults.
    """
    os.environ["TZ"] = "UTC"
    time.tzset()
    interpreted = {} if os.environ.get("SQLEXT_TESTS_COMPILE") == "1" else {_CODE: "NO_CODEGEN"}
    return {
        **interpreted,
        "spark.driver.memory": "3g",
        "spark.driver.extraJavaOptions": JAVA_OPTIONS,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }


@contextmanager
def compiled(spark: SparkSession) -> Iterator[None]:
    """While it lasts, the session compiles expressions, as Spark does by default."""
    before = spark.conf.get(_CODE)
    spark.conf.set(_CODE, "FALLBACK")
    try:
        yield
    finally:
        spark.conf.set(_CODE, str(before))


@contextmanager
def planned(spark: SparkSession, **settings: object) -> Iterator[None]:
    """While it lasts, the session plans changes by these settings, `driver_bytes` for `sqlext.plan.driver-bytes`."""
    names = {f"sqlext.plan.{name.replace('_', '-')}": str(value) for name, value in settings.items()}
    for name, value in names.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in names:
            spark.conf.unset(name)
