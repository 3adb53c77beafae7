"""Every way in which a statement can be carried out, on whatever Spark and packages this Python has: `python core.py`.

It needs no package but sqlext, and prints a line of JSON for each step: its name, and the error of one that failed. The
wheel is tried with it in an empty environment of each Spark.
"""

from __future__ import annotations

import datetime
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import sqlext

MANY = 201_000
"""Rows that no driver takes by default."""

Step = Callable[[SparkSession, Path], None]
STEPS: list[Step] = []


def step(run: Step) -> Step:
    STEPS.append(run)
    return run


def equal(found: Any, expected: Any) -> None:
    if found != expected:
        raise AssertionError(f"{found!r} and not {expected!r}")


def rows(spark: SparkSession, query: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(query).collect()]


@step
def create_with_key(spark: SparkSession, folder: Path) -> None:
    spark.sql(
        "CREATE TABLE lake.db.t (id BIGINT NOT NULL, s STRING, d DECIMAL(9,2), at TIMESTAMP, day DATE, n TIMESTAMP_NTZ,"
        " b BINARY, l ARRAY<INT>, m MAP<STRING, INT>, x STRUCT<a: INT, b: STRING>, PRIMARY KEY (id))"
    )
    equal(rows(spark, "SELECT * FROM lake.db.t"), [])


VALUES = (
    "({id}L, 's', 1.50, TIMESTAMP'2024-01-01 00:00:00Z', DATE'2024-02-29', TIMESTAMP_NTZ'2024-01-01 00:00:00', X'00FF',"
    " array(1, 2), map('k', 1), named_struct('a', 1, 'b', 'b'))"
)


@step
def insert_of_literals(spark: SparkSession, folder: Path) -> None:
    spark.sql("INSERT INTO lake.db.t VALUES " + ", ".join(VALUES.format(id=id) for id in range(3)))
    moment = datetime.datetime(2024, 1, 1)
    expected = ("s", Decimal("1.50"), moment, datetime.date(2024, 2, 29), moment, bytearray(b"\x00\xff"), [1, 2])
    found = rows(spark, "SELECT s, d, at, day, n, b, l FROM lake.db.t WHERE id = 1")
    equal(found, [expected])


@step
def small_insert_of_a_query(spark: SparkSession, folder: Path) -> None:
    spark.sql("INSERT INTO lake.db.t SELECT id + 3, s, d, at, day, n, b, l, m, x FROM lake.db.t")
    equal(rows(spark, "SELECT count(*), count(at), sum(id) FROM lake.db.t"), [(6, 6, 15)])


@step
def small_update_of_a_timestamp(spark: SparkSession, folder: Path) -> None:
    spark.sql("UPDATE lake.db.t SET at = at + INTERVAL 1 DAY, x.a = 7 WHERE id = 2")
    equal(rows(spark, "SELECT day(at), x.a, x.b FROM lake.db.t WHERE id = 2"), [(2, 7, "b")])


@step
def small_merge(spark: SparkSession, folder: Path) -> None:
    spark.sql(
        "MERGE INTO lake.db.t t USING (SELECT * FROM VALUES (1L, 'one'), (100L, 'new'), (5L, NULL) AS s (id, s)) s"
        " ON t.id = s.id WHEN MATCHED AND s.s IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET s = s.s"
        " WHEN NOT MATCHED THEN INSERT (id, s) VALUES (s.id, s.s)"
    )
    equal(rows(spark, "SELECT id, s FROM lake.db.t WHERE id IN (1, 5, 100) ORDER BY id"), [(1, "one"), (100, "new")])


@step
def small_delete(spark: SparkSession, folder: Path) -> None:
    spark.sql("DELETE FROM lake.db.t WHERE id = 100 OR s IS NULL")
    equal(rows(spark, "SELECT count(*) FROM lake.db.t"), [(5,)])


@step
def upserts_by_key(spark: SparkSession, folder: Path) -> None:
    for mode in ("resolved", "equality"):
        spark.sql(
            f"CREATE TABLE lake.db.{mode} (id INT, v STRING, PRIMARY KEY (id))"
            f" TBLPROPERTIES ('write.upsert.mode' = '{mode}')"
        )
        spark.sql(f"UPSERT INTO lake.db.{mode} VALUES (1, 'a'), (2, 'b')")
        spark.sql(f"UPSERT INTO lake.db.{mode} SELECT 2, 'c'")
        equal(rows(spark, f"SELECT * FROM lake.db.{mode} ORDER BY id"), [(1, "a"), (2, "c")])


@step
def many_rows_by_tasks(spark: SparkSession, folder: Path) -> None:
    spark.sql("CREATE TABLE lake.db.many (id BIGINT, at TIMESTAMP, v STRING, p INT) PARTITIONED BY (p)")
    spark.range(MANY).select(
        "id",
        F.timestamp_seconds("id").alias("at"),
        F.col("id").cast("string").alias("v"),
        (F.col("id") % 3).cast("int").alias("p"),
    ).writeTo("lake.db.many").append()
    equal(rows(spark, "SELECT count(*), count(DISTINCT id), max(at) FROM lake.db.many")[0][:2], (MANY, MANY))


@step
def update_of_many_rows(spark: SparkSession, folder: Path) -> None:
    spark.sql("UPDATE lake.db.many SET at = at + INTERVAL 1 HOUR, v = concat(v, '!')")
    equal(rows(spark, "SELECT count(*), min(hour(at)) FROM lake.db.many WHERE v LIKE '%!'"), [(MANY, 0)])


@step
def merge_of_many_rows(spark: SparkSession, folder: Path) -> None:
    for mode in ("merge-on-read", "copy-on-write"):
        spark.sql(f"ALTER TABLE lake.db.many SET TBLPROPERTIES ('write.merge.mode' = '{mode}')")
        spark.sql(
            f"MERGE INTO lake.db.many t USING (SELECT id * 2 AS id FROM range({MANY})) s ON t.id = s.id"
            " WHEN MATCHED THEN UPDATE SET v = 'even' WHEN NOT MATCHED THEN INSERT (id, v, p) VALUES (s.id, 'even', 0)"
        )
        equal(rows(spark, "SELECT count(*), count(DISTINCT id) FROM lake.db.many"), [(MANY + MANY // 2,) * 2])


@step
def delete_of_many_rows(spark: SparkSession, folder: Path) -> None:
    spark.sql("DELETE FROM lake.db.many WHERE id % 2 = 1 AND hash(v) <> 0")
    spark.sql("DELETE FROM lake.db.many WHERE p = 0")
    equal(rows(spark, "SELECT count(*) FROM lake.db.many WHERE id % 2 = 1 OR p = 0"), [(0,)])


@step
def compaction(spark: SparkSession, folder: Path) -> None:
    before = rows(spark, "SELECT count(*), sum(id) FROM lake.db.many")
    spark.sql("CALL lake.system.compact(table => 'db.many')").collect()
    equal(rows(spark, "SELECT count(*), sum(id) FROM lake.db.many"), before)


@step
def data_frames_with_arrow(spark: SparkSession, folder: Path) -> None:
    table = spark.table("lake.db.t").toArrow()
    equal((table.num_rows, str(table.schema.field("at").type)), (5, "timestamp[us, tz=UTC]"))
    made = spark.createDataFrame([(1, "x", datetime.datetime(2024, 1, 1))], "id INT, s STRING, at TIMESTAMP")
    made.writeTo("lake.db.made").create()
    made.writeTo("lake.db.made").overwritePartitions()
    equal(rows(spark, "SELECT id, s FROM lake.db.made"), [(1, "x")])


@step
def variants(spark: SparkSession, folder: Path) -> None:
    spark.sql("CREATE TABLE lake.db.variants (id INT, v VARIANT) TBLPROPERTIES ('format-version' = '3')")
    spark.sql("INSERT INTO lake.db.variants SELECT 1, parse_json('{\"a\": [1, 2]}')")
    query = "SELECT variant_get(v, '$.a[1]', 'int') FROM lake.db.variants"
    if spark.version.startswith("4.0."):
        refused("NOT_READ_BY_SPARK_4_0", lambda: spark.sql(query).collect())
    else:
        equal(rows(spark, query), [(2,)])


def refused(condition: str, run: Callable[[], object]) -> None:
    try:
        run()
    except Exception as failure:
        if condition not in str(failure):
            raise
    else:
        raise AssertionError(f"{condition} was not raised")


@step
def errors_have_conditions(spark: SparkSession, folder: Path) -> None:
    refused("TABLE_OR_VIEW_NOT_FOUND", lambda: spark.sql("INSERT INTO lake.db.missing VALUES (1)"))
    refused("CAST_INVALID_INPUT", lambda: spark.sql("UPDATE lake.db.t SET id = CAST(s AS BIGINT) WHERE id = 1"))


@step
def time_travel_views_and_metadata(spark: SparkSession, folder: Path) -> None:
    first = rows(spark, "SELECT snapshot_id FROM lake.db.t.snapshots ORDER BY committed_at LIMIT 1")[0][0]
    equal(rows(spark, f"SELECT count(*) FROM lake.db.t VERSION AS OF {first}"), [(3,)])
    spark.sql("CREATE VIEW lake.db.v AS SELECT id, at FROM lake.db.t WHERE id < 2")
    equal(rows(spark, "SELECT id FROM lake.db.v ORDER BY id"), [(0,), (1,)])
    equal(rows(spark, "SELECT sum(record_count) > 0 FROM lake.db.t.files"), [(True,)])


@step
def transactions(spark: SparkSession, folder: Path) -> None:
    with sqlext.transaction(spark):
        spark.sql("UPSERT INTO lake.db.resolved VALUES (3, 'd')")
        spark.sql("DELETE FROM lake.db.equality WHERE id = 1")
    equal(
        rows(spark, "SELECT count(*) FROM lake.db.resolved UNION ALL SELECT count(*) FROM lake.db.equality"),
        [(3,), (1,)],
    )


@step
def changes(spark: SparkSession, folder: Path) -> None:
    found = rows(spark, "SELECT _change_type, id FROM table_changes('lake.db.resolved')")
    equal(len(found) >= 4, True)


@step
def cached_tables(spark: SparkSession, folder: Path) -> None:
    spark.sql("CACHE TABLE lake.db.resolved")
    spark.sql("UPSERT INTO lake.db.resolved VALUES (4, 'e')")
    equal(rows(spark, "SELECT max(id) FROM lake.db.resolved"), [(4,)])
    spark.sql("UNCACHE TABLE IF EXISTS lake.db.resolved")


@step
def streams(spark: SparkSession, folder: Path) -> None:
    spark.sql("CREATE TABLE lake.db.copy (id INT, v STRING, PRIMARY KEY (id))")
    query = (
        spark.readStream.table("lake.db.resolved")
        .writeStream.option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .toTable("lake.db.copy")
    )
    query.awaitTermination()
    equal(rows(spark, "SELECT count(*) >= 4 FROM lake.db.copy"), [(True,)])


def results() -> Iterator[dict[str, str | None]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = {"spark.sql.session.timeZone": "UTC", "spark.ui.enabled": "false", "spark.log.level": "ERROR"}
        spark = sqlext.session(lake=folder / "lake", master="local[2]", conf=settings)
        spark.sql("CREATE NAMESPACE lake.db")
        for run in STEPS:
            try:
                run(spark, folder)
                error = None
            except Exception as failure:
                error = f"{type(failure).__name__}: {failure}"
            yield {"spark": spark.version, "step": run.__name__, "error": error}
        spark.stop()


def main() -> int:
    found = []
    for one in results():
        print(json.dumps(one), flush=True)
        found.append(one)
    return int(any(one["error"] for one in found))


if __name__ == "__main__":
    sys.exit(main())
