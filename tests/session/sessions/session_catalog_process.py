"""sqlext as Spark's session catalog: `session_catalog_process.py FOLDER AREA…` prints as JSON what it found.

The golden areas run in `spark_catalog`. Where a table is missing, Spark tells that itself there, so rows are compared,
and what is an error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sqlext
from golden.runner import recorded_rows, rows_in, run_area
from sessions import settings

CATALOG = "spark_catalog"

NOT_SQLEXTS = ("CREATE TABLE other_provider (id INT) USING orc", "CREATE TABLE bucketed (id INT) CLUSTERED BY")
"""Statements that another catalog of sqlext refuses, and Spark carries out."""


def main(folder: str, *areas: str) -> dict[str, object]:
    # Golden results are of tables that do not look after themselves.
    uncared = {f"spark.sql.catalog.{name}.care": "none" for name in ("spark_catalog", "lake")}
    conf = {**settings(), **uncared, "spark.sql.warehouse.dir": f"{folder}/spark"}
    spark = sqlext.session(spark_catalog=f"{folder}/own", lake=f"{folder}/lake", master="local[2]", conf=conf)
    return {
        **tables_of_both(spark),
        "taken names": [outcome(run) for run in names_that_are_taken(spark)],
        "after them": sorted(row.tableName for row in spark.sql("SHOW TABLES IN db").collect()),
        "dropping": [outcome(lambda how=how: spark.sql(f"DROP DATABASE db{how}")) for how in ("", " CASCADE")],
        "again": [spark.sql("CREATE DATABASE db").count(), spark.sql("SHOW TABLES IN db").count()],
        "differing": [place for area in areas for place in differing(spark, Path(folder, "own"), area)],
    }


def tables_of_both(spark: SparkSession) -> dict[str, object]:
    """Tables of sqlext and of Spark in one database, in one query, and in one statement."""
    for text in (
        "CREATE DATABASE db",
        "USE db",
        "CREATE TABLE own (id BIGINT NOT NULL, s STRING, PRIMARY KEY (id)) USING iceberg",
        "CREATE TABLE plain (id BIGINT, s STRING DEFAULT 'd') USING parquet",
        "INSERT INTO own VALUES (1, 'a'), (2, 'b')",
        "INSERT INTO plain VALUES (1, 'x'), (7, 'y')",
        "INSERT INTO plain (id) VALUES (8)",
        "MERGE INTO own USING plain ON own.id = plain.id"
        " WHEN MATCHED THEN UPDATE SET s = plain.s WHEN NOT MATCHED THEN INSERT *",
        "UPSERT INTO own VALUES (2, 'up')",
        "UPDATE db.own SET s = 'seven' WHERE id = 7",
        "CREATE TABLE copied USING parquet AS SELECT * FROM own",
        "CREATE TABLE made AS SELECT * FROM plain",
        "ALTER TABLE plain ADD COLUMNS (z INT)",
        "ALTER TABLE own ADD COLUMN z INT",
        "TRUNCATE TABLE made",
        "CREATE TABLE like_own LIKE own",
        "CREATE TABLE like_plain LIKE plain",
        "ALTER TABLE plain RENAME TO renamed",
        "CREATE VIEW seen AS SELECT own.id, renamed.s FROM own JOIN renamed USING (id)",
    ):
        spark.sql(text)
    spark.range(3).selectExpr("id + 10 AS id", "'n' AS s", "0 AS z").writeTo("own").append()
    spark.range(3).write.saveAsTable("saved")
    spark.range(3).write.format("sqlext").saveAsTable("saved_here")
    spark.range(3).write.insertInto("saved_here")
    with sqlext.transaction(spark, CATALOG):
        spark.sql("INSERT INTO own (id) VALUES (100)")
        spark.sql("DELETE FROM own WHERE id = 8")
    with sqlext.transaction(spark):
        spark.sql("CREATE TABLE in_it (id INT NOT NULL, PRIMARY KEY (id))")
        spark.sql("UPSERT INTO in_it VALUES (1), (2)")
    return {
        "rows": rows(spark, "SELECT id, s FROM own ORDER BY id"),
        "counts": [
            spark.table(name).count() for name in ("renamed", "copied", "made", "seen", "saved", "saved_here", "in_it")
        ],
        "snapshots": spark.table("spark_catalog.db.own.snapshots").count(),
        "tables": sorted(row.tableName for row in spark.sql("SHOW TABLES").collect()),
        "views": [row.viewName for row in spark.sql("SHOW VIEWS").collect()],
        "sqlext's": [provider(spark, name) for name in ("own", "made", "like_own", "saved_here")],
        "Spark's": [provider(spark, name) for name in ("renamed", "saved", "like_plain")],
        "compacted": rows(spark, "CALL spark_catalog.system.compact('db.own')")[0][2],
        "exists": [spark.catalog.tableExists(name) for name in ("db.own", "db.renamed", "db.plain")],
        "in another session": spark.newSession().table("db.own").count(),
    }


def names_that_are_taken(spark: SparkSession) -> list[Callable[[], object]]:
    """Each would make two tables of one name, or drop one for the other."""
    texts = (
        "CREATE TABLE own (id INT) USING parquet",
        "CREATE TABLE own USING parquet AS SELECT 1",
        "CREATE TABLE own LIKE renamed USING parquet",
        "CREATE VIEW own AS SELECT 1",
        "ALTER TABLE renamed RENAME TO own",
        "CREATE TABLE renamed (id INT)",
        "CREATE OR REPLACE TABLE renamed AS SELECT 1",
        "CREATE TABLE IF NOT EXISTS own (id INT) USING parquet",
        "CREATE TABLE IF NOT EXISTS renamed (id INT)",
    )
    ten = spark.range(10)
    return [
        *(lambda text=text: spark.sql(text) for text in texts),  # type: ignore[misc]
        lambda: ten.write.saveAsTable("own"),
        lambda: ten.write.mode("overwrite").saveAsTable("own"),
        lambda: ten.write.mode("ignore").saveAsTable("own"),
        lambda: ten.writeTo("renamed").create(),
        lambda: ten.writeTo("renamed").createOrReplace(),
        lambda: spark.catalog.createTable("own", schema=ten.schema, source="parquet"),
    ]


def outcome(run: Callable[[], object]) -> str:
    try:
        run()
    except (PySparkException, Py4JJavaError) as failure:
        return str(failure).partition("]")[0].removeprefix("[")
    return "done"


def rows(spark: SparkSession, text: str) -> list[list[Any]]:
    return [list(row) for row in spark.sql(text).collect()]


def provider(spark: SparkSession, table: str) -> str:
    return next(row[1] for row in spark.sql(f"DESCRIBE EXTENDED {table}").collect() if row[0] == "Provider")


def differing(spark: SparkSession, warehouse: Path, area: str) -> list[str]:
    """The statements whose rows are others than in `lake`, or which fail only in one of the two."""
    given = rows_in(run_area(spark, warehouse, area, CATALOG), area, CATALOG)
    return [
        f"{area}: {statement.text}"
        for (statement, found), (_, recorded) in zip(given, recorded_rows(area), strict=True)
        if not statement.text.startswith(NOT_SQLEXTS)
        and json.dumps(found) != json.dumps(recorded).replace("lake", CATALOG)
    ]


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
