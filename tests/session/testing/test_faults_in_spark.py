"""Faults of a test in the catalogs of a running session, and comparison of DataFrames."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import sqlext
from sessions import planned
from sqlext.testing import FaultNotMet, Faults, assert_tables_equal, table_difference
from sqlext.testing.simulator import Batch, FaultRates, SimulationFailed, simulate


@pytest.fixture
def orders(spark: SparkSession, table_name: str) -> str:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, buyer STRING, PRIMARY KEY (id))")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'Ada')")
    return table_name


def rows(spark: SparkSession, table: str) -> list[tuple[int, str]]:
    return sorted((row["id"], row["buyer"]) for row in spark.table(table).collect())


def test_statements_dataframes_and_transactions_lose_commits(spark: SparkSession, orders: str) -> None:
    faults = Faults()
    with faults.lose_next_commit():
        spark.sql(f"UPDATE {orders} SET buyer = 'Bo' WHERE id = 1")
    with faults.lose_next_commit(2, table=orders):
        spark.createDataFrame([(2, "Eve")], "id BIGINT, buyer STRING").writeTo(orders).append()
    with faults.lose_next_commit(
        by=lambda other: other.upsert([{"id": 1, "buyer": "other"}, {"id": 3, "buyer": "Cy"}])
    ):
        spark.sql(
            f"MERGE INTO {orders} t USING (SELECT 1L AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET buyer = 'x'"
        )
    assert rows(spark, orders) == [(1, "x"), (2, "Eve"), (3, "Cy")]
    assert spark.table(f"{orders}.snapshots").where("summary['added-records'] IS NULL").count() >= 3
    conflicts = pytest.raises(PySparkException, match="TRANSACTION_CONFLICT")
    with faults.lose_next_commit(), conflicts, sqlext.transaction(spark, "lake"):
        spark.sql(f"DELETE FROM {orders} WHERE id = 1")
    assert rows(spark, orders) == [(1, "x"), (2, "Eve"), (3, "Cy")]


def test_a_transaction_loses_its_answer(spark: SparkSession, orders: str) -> None:
    with Faults().lose_answer(checked=True), sqlext.transaction(spark, "lake"):
        spark.sql(f"UPDATE {orders} SET buyer = 'Bo'")
    assert rows(spark, orders) == [(1, "Bo")]
    with Faults().lose_answer(), pytest.raises(PySparkException) as caught, sqlext.transaction(spark, "lake"):
        spark.sql(f"UPDATE {orders} SET buyer = 'Cy'")
    assert caught.value.getCondition() in ("CHANGE_STATE_UNKNOWN", "COMMIT_STATE_UNKNOWN")
    assert rows(spark, orders) == [(1, "Cy")]


def test_a_lost_answer_has_its_condition(spark: SparkSession, orders: str) -> None:
    faults = Faults()
    with faults.lose_answer(), pytest.raises(PySparkException) as caught:
        spark.sql(f"INSERT INTO {orders} VALUES (2, 'Bo')")
    assert caught.value.getCondition() == "COMMIT_STATE_UNKNOWN"
    with faults.lose_answer(checked=True):
        spark.sql(f"INSERT INTO {orders} VALUES (3, 'Cy')")
    assert rows(spark, orders) == [(1, "Ada"), (2, "Bo"), (3, "Cy")]


def test_a_batch_is_not_written_twice_after_a_lost_answer(spark: SparkSession, orders: str) -> None:
    source = spark.createDataFrame([(2, "Bo")], "id BIGINT, buyer STRING")

    def write() -> None:
        source.writeTo(orders).option("txn-app-id", "nightly").option("txn-version", "7").append()

    with Faults().lose_answer(), pytest.raises(PySparkException):
        write()
    write()
    assert rows(spark, orders) == [(1, "Ada"), (2, "Bo")]


@pytest.mark.parametrize("force", ["driver", "tasks"])
def test_a_store_that_refuses_on_the_driver_and_in_tasks(spark: SparkSession, orders: str, force: str) -> None:
    with planned(spark, force=force), Faults().fail_storage("write", "data file") as refused:
        with pytest.raises(PySparkException, match="STORAGE_FAILURE"):
            spark.sql(f"INSERT INTO {orders} VALUES (2, 'Bo')")
        assert refused.met == 1
        spark.sql(f"INSERT INTO {orders} VALUES (3, 'Cy')")
    assert rows(spark, orders) == [(1, "Ada"), (3, "Cy")]


def test_a_worker_that_dies(spark: SparkSession, orders: str) -> None:
    """This session's tasks run once: the statement fails, leaves nothing, and can be repeated."""
    statement = f"INSERT INTO {orders} SELECT id + 10, 'x' FROM range(1000)"
    with planned(spark, force="tasks"), Faults().kill_worker():
        with pytest.raises(Py4JJavaError, match="Python worker exited unexpectedly"):
            spark.sql(statement)
        assert rows(spark, orders) == [(1, "Ada")]
        spark.sql(statement)
    assert spark.table(orders).count() == 1001


def test_a_worker_that_is_not_asked_does_not_die(spark: SparkSession, orders: str) -> None:
    with pytest.raises(FaultNotMet, match=r"sqlext\.plan\.force is tasks"), Faults().kill_worker():
        spark.sql(f"INSERT INTO {orders} VALUES (2, 'Bo')")


def test_a_stream_goes_on_after_a_lost_commit(spark: SparkSession, orders: str, tmp_path: Path) -> None:
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 2).load()
    upserted = source.select(F.col("value").alias("id"), F.lit("stream").alias("buyer"))
    with Faults().lose_next_commit(2):
        query = upserted.writeStream.option("checkpointLocation", f"{tmp_path}/c").toTable(orders)
        try:
            while len(query.recentProgress) < 2 and query.isActive:
                query.awaitTermination(1)
        finally:
            query.stop()
        assert query.exception() is None
    assert {buyer for _, buyer in rows(spark, orders)} == {"Ada", "stream"}


def test_dataframes_are_compared(spark: SparkSession, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, at TIMESTAMP, local TIMESTAMP_NTZ, day DATE, price DECIMAL(9, 2),"
        " share DOUBLE, raw BINARY, tags MAP<STRING, INT>, place STRUCT<x: INT, y: ARRAY<STRING>>)"
    )
    spark.sql(
        f"INSERT INTO {table_name} SELECT 1, TIMESTAMP '2026-01-31 12:00:00Z', TIMESTAMP_NTZ '2026-01-31 12:00:00',"
        " DATE '2026-01-31', 2.50, CAST('NaN' AS DOUBLE), X'00FF', map('a', 1), struct(1, array('x', NULL))"
    )
    noon = datetime(2026, 1, 31, 12)
    expected = {
        "id": 1,
        "at": noon.replace(tzinfo=timezone.utc),
        "local": noon,
        "day": noon.date(),
        "price": Decimal("2.5"),
        "share": float("nan"),
        "raw": b"\x00\xff",
        "tags": {"a": 1},
        "place": {"x": 1, "y": ["x", None]},
    }
    there = spark.table(table_name)
    assert_tables_equal(there, [expected], key="id")
    assert_tables_equal(there, spark.sql(f"SELECT * FROM {table_name}"))
    # Rows that are collected have their timestamps in the process's zone, and without one.
    assert_tables_equal(there.drop("tags", "at").collect(), there.drop("tags", "at"), key="id")
    difference = table_difference(there, [{**expected, "at": noon, "tags": {"a": 2}}], key="id")
    assert set(difference.different[0].columns) == {"at", "tags"}


def test_the_simulator_of_a_pipeline_in_spark(spark: SparkSession, orders: str, warehouse: Path) -> None:
    table = sqlext.local.open(str(warehouse), {"care": "none"}, name="lake").table(orders.removeprefix("lake."))
    spark.sql(f"DELETE FROM {orders}")

    def right(batch: Batch) -> None:
        sqlext.upsert(spark.createDataFrame(batch.to_arrow()), orders)

    def wrong(batch: Batch) -> None:
        with suppress(PySparkException):
            right(batch)

    rates = FaultRates(lost_commit=0.3, lost_answer=0.3, refused_write=0.3)
    simulate(right, table, seed=4, steps=6, rates=rates)
    with pytest.raises(SimulationFailed, match="the tables differ"):
        simulate(wrong, table, seed=4, steps=12, rates=FaultRates(0, 0, 1, 0, 0), shrink_s=0)
