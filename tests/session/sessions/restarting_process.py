"""A process whose session is configured again and again, as a notebook's first cell is, stopped and begun anew.

Argument: a folder. Prints one line of JSON: the threads of Python and of the JVM after each round.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import sqlext
from sqlext.errors import AnalysisError

SETTINGS = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
ROUNDS = 10


def first_cell(**warehouses: Path) -> SparkSession:
    return sqlext.session(master="local[2]", conf=SETTINGS, **warehouses)


def catalogs_stay(folder: Path) -> None:
    """Every way to the session gives the one that is there, with its catalogs, transaction and DataFrames."""
    spark = first_cell(lake=folder / "lake")
    spark.sql("CREATE NAMESPACE lake.db")
    spark.sql("CREATE TABLE lake.db.t (id INT)")
    rows = spark.table("lake.db.t")
    spark.sql("BEGIN")
    spark.sql("INSERT INTO lake.db.t VALUES (1)")
    again = sqlext.configure(SparkSession.builder, lake=folder / "lake").getOrCreate()
    assert again.sql("SELECT * FROM lake.db.t").count() == 1
    assert first_cell(lake=folder / "lake", pond=folder / "pond").table("lake.db.t").count() == 1
    assert sqlext.attach(spark).table("lake.db.t").count() == rows.count() == 1
    other = spark.newSession()
    assert sqlext.attach(other).table("lake.db.t").count() == 0
    spark.sql("ROLLBACK")
    assert again.table("lake.db.t").count() == 0
    spark.sql("CREATE NAMESPACE pond.db")
    spark.sql("CREATE TABLE pond.db.t AS SELECT 1 AS id")
    for attempt in (
        lambda: first_cell(lake=folder / "elsewhere"),
        lambda: sqlext.configure(SparkSession.builder, lake=folder / "elsewhere").getOrCreate(),
    ):
        with pytest.raises(AnalysisError, match="CATALOG_IS_OPEN"):
            attempt()
    assert spark.table("lake.db.t").count() == 0
    spark.stop()


def begun_anew(folder: Path, number: int) -> list[int]:
    """A session with a folder of its own under the same name; the threads that it leaves."""
    settings: dict[str, Any] = {
        **SETTINGS,
        "spark.sql.catalog.grouped": "io.sqlext.Catalog",
        "spark.sql.catalog.grouped.warehouse": str(folder / f"grouped{number}"),
        "spark.sql.catalog.grouped.group-commit": "host",
        "spark.sql.catalog.well": "io.sqlext.Catalog",
        "spark.sql.catalog.well.type": "jdbc",
        "spark.sql.catalog.well.uri": f"jdbc:sqlite:{folder}/{number}.db",
        "spark.sql.catalog.well.warehouse": str(folder / f"well{number}"),
    }
    spark = sqlext.session(master="local[2]", conf=settings, lake=folder / f"lake{number}")
    for catalog in ("lake", "grouped", "well"):
        spark.sql(f"CREATE NAMESPACE {catalog}.db")
        spark.sql(f"CREATE TABLE {catalog}.db.t (id INT, PRIMARY KEY (id))")
        spark.sql(f"INSERT INTO {catalog}.db.t VALUES ({number}), ({number + 1})")
        spark.sql(f"DELETE FROM {catalog}.db.t WHERE id = {number}")
        assert [row.id for row in spark.table(f"{catalog}.db.t").collect()] == [number + 1]
    jvm = spark.sparkContext._jvm
    spark.stop()
    return [threading.active_count(), _fewest_threads(jvm)]


def _fewest_threads(jvm: Any) -> int:
    """Those of the JVM: Spark's pools end their threads in the seconds after a session has stopped."""
    fewest = jvm.java.lang.Thread.activeCount()
    for _ in range(20):
        time.sleep(0.1)
        fewest = min(fewest, jvm.java.lang.Thread.activeCount())
    return int(fewest)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    catalogs_stay(place)
    print(json.dumps([begun_anew(place, number) for number in range(ROUNDS)]))
