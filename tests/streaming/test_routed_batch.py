"""One stream into many tables: each batch is in all of them or in none, and once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import sqlext
from sqlext.streaming import routed_batch
from streaming.json_stream import JsonStream


def _rows(spark: SparkSession, table: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.table(table).collect())


@pytest.fixture
def tables(spark: SparkSession, table_name: str) -> tuple[str, str, str]:
    """A namespace of its own: one table that keeps the progress, and two that rows go to."""
    space = table_name.replace(".db.", ".routed_")
    spark.sql(f"CREATE NAMESPACE {space}")
    keeper, orders, clicks = (f"{space}.{name}" for name in ("rest", "orders", "clicks"))
    spark.sql(f"CREATE TABLE {keeper} (kind STRING, id INT, v STRING)")
    spark.sql(
        f"CREATE TABLE {orders} (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('write.upsert.enabled'='true')"
    )
    spark.sql(f"CREATE TABLE {clicks} (id INT)")
    return keeper, orders, clicks


def test_a_batch_lands_in_all_tables_or_in_none(
    spark: SparkSession, tables: tuple[str, str, str], tmp_path: Path
) -> None:
    keeper, orders, clicks = tables
    stream = JsonStream(spark, tmp_path, "kind STRING, id INT, v STRING")
    stream.put({"kind": "orders", "id": 1, "v": "a"}, {"kind": "clicks", "id": 7}, {"kind": "clicks", "id": 8})
    stream.run(keeper, route_by="kind")
    stream.forget_commit_of(0)
    stream.put({"kind": "orders", "id": 1, "v": "b"}, {"kind": "clicks", "id": 9})
    query = stream.run(keeper, route_by="kind")
    metrics = [progress["sink"]["metrics"] for progress in query.recentProgress]
    assert [one.get("alreadyCommitted") for one in metrics] == ["true", None]
    assert metrics[1]["rowsWritten"] == "2"
    expected = [(1, "b")], [(7,), (8,), (9,)], []
    assert (_rows(spark, orders), _rows(spark, clicks), _rows(spark, keeper)) == expected

    stream.put({"kind": "orders", "id": 2, "v": "c"}, {"kind": "nowhere", "id": 1})
    with pytest.raises(StreamingQueryException, match=r"STREAM_ROUTE_UNKNOWN.*nowhere"):
        stream.run(keeper, route_by="kind")
    assert (_rows(spark, orders), _rows(spark, clicks), _rows(spark, keeper)) == expected
    stream.run(keeper, route_by="kind", route_unknown="rest")
    assert (_rows(spark, orders), _rows(spark, keeper)) == ([(1, "b"), (2, "c")], [("nowhere", 1, None)])

    stream.put({"kind": "orders", "id": 3, "v": "d"}, {"kind": "clicks", "id": 1, "v": "a column that it lacks"})
    with pytest.raises(StreamingQueryException, match=r"STREAM_ROUTE_COLUMNS.*clicks.*: v"):
        stream.run(keeper, route_by="kind")
    spark.sql(f"ALTER TABLE {clicks} ADD COLUMN v STRING")
    builder = sqlext.write_stream(stream.frame()).route_by("kind").checkpoint(str(stream.checkpoint))
    builder.trigger(availableNow=True).to_table(keeper).awaitTermination()
    assert _rows(spark, orders) == [(1, "b"), (2, "c"), (3, "d")]
    queries = {
        row.summary["spark.sql.streaming.queryId"]
        for row in spark.sql(f"SELECT summary FROM {orders}.snapshots").collect()
    }
    assert len(queries) == 1


def test_tables_without_a_key_go_by_the_columns_of_the_option(
    spark: SparkSession, tables: tuple[str, str, str], tmp_path: Path
) -> None:
    keeper, orders, clicks = tables
    stream = JsonStream(spark, tmp_path, "kind STRING, id INT, v STRING")
    stream.put({"kind": "orders", "id": 1, "v": "a"}, {"kind": "clicks", "id": 7}, {"kind": "clicks", "id": 8})
    stream.put({"kind": "orders", "id": 1, "v": "b"}, {"kind": "clicks", "id": 7})
    stream.run(keeper, "update", route_by="kind", equality_field_columns="id")
    assert (_rows(spark, orders), _rows(spark, clicks)) == ([(1, "b")], [(7,), (8,)])


def test_a_batch_that_others_overtake_is_written_again(
    spark: SparkSession, tables: tuple[str, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper, orders, clicks = tables
    commit_change, other = routed_batch.commit_change, spark.newSession()
    overtaking = [f"INSERT INTO {clicks} VALUES (100)"]

    def overtaken(*given: Any) -> None:
        if overtaking:
            other.sql(overtaking.pop())
        commit_change(*given)

    monkeypatch.setattr(routed_batch, "commit_change", overtaken)
    stream = JsonStream(spark, tmp_path, "kind STRING, id INT, v STRING")
    stream.put({"kind": "orders", "id": 1, "v": "a"}, {"kind": "clicks", "id": 7})
    stream.run(keeper, route_by="kind")
    assert (_rows(spark, orders), _rows(spark, clicks)) == ([(1, "a")], [(7,), (100,)])
    assert overtaking == []
