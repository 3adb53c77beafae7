"""Debezium's events, as connectors write them, to rows and kinds; what cannot be read is told, and no event is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from sqlext.changelog.debezium import from_debezium
from sqlext.errors import UnsupportedError

SCHEMA = "id INT NOT NULL, name STRING, day DATE, tags ARRAY<STRING>"
ANN = {"id": 1, "name": "Ann", "day": "2024-01-31", "tags": ["a"]}
BOB = {"id": 2, "name": None, "day": None, "tags": None, "other": 9}


def event(op: str, before: Any = None, after: Any = None, *, wrapped: bool = False, lsn: int = 7) -> str:
    envelope = {"before": before, "after": after, "source": {"lsn": lsn}, "op": op, "ts_ms": 1000 + lsn}
    return json.dumps({"schema": {"type": "struct"}, "payload": envelope} if wrapped else envelope)


def feed(spark: SparkSession, *values: str | None) -> DataFrame:
    return spark.createDataFrame([(value,) for value in values], "`the value` string")


def decoded(spark: SparkSession, *values: str | None) -> list[tuple[Any, ...]]:
    rows = from_debezium(feed(spark, *values), "the value", SCHEMA).collect()
    return [(row.id, row.name, None if row.day is None else str(row.day), row.tags, row._row_kind) for row in rows]


@pytest.mark.parametrize("wrapped", [False, True], ids=["plain", "with schema"])
def test_operations(spark: SparkSession, wrapped: bool) -> None:
    ann, bob = (1, "Ann", "2024-01-31", ["a"]), (2, None, None, None)
    values = [
        event("c", None, ANN, wrapped=wrapped),
        event("r", None, BOB, wrapped=wrapped),
        None,
        event("u", ANN, {**ANN, "name": "Anna"}, wrapped=wrapped),
        event("u", None, BOB, wrapped=wrapped),
        event("d", ANN, None, wrapped=wrapped),
        "null",
    ]
    assert decoded(spark, *values) == [
        (*ann, "+I"),
        (*bob, "+I"),
        (*ann, "-U"),
        (1, "Anna", *ann[2:], "+U"),
        (*bob, "+U"),
        (*ann, "-D"),
    ]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ('{"op": "c", "after": {"id": 1', "it is no JSON"),
        ("[]", "it is no JSON"),
        ("", "its op is none"),
        ("{}", "its op is none"),
        ("7", "it is no JSON"),
        (event("c", None, {**ANN, "id": "one"}), "a value is not of its column's type"),
        (event("c", None, {**ANN, "day": 19753}), "a value is not of its column's type"),
        (event("c", None, {**ANN, "tags": "a"}), "a value is not of its column's type"),
        (event("c", None, 5), "a value is not of its column's type"),
        (event("t"), "its op is none of c, r, u and d"),
        (event("d"), "it has no before"),
        (event("u", ANN), "it has no after"),
    ],
)
def test_what_cannot_be_read_is_shown(spark: SparkSession, value: str, reason: str) -> None:
    with pytest.raises(PySparkException) as refusal:
        decoded(spark, event("c", None, BOB), value)
    assert reason in str(refusal.value)
    assert value in str(refusal.value)


def test_a_timestamp_is_iso_text_and_no_number(spark: SparkSession) -> None:
    schema = "id INT, at TIMESTAMP, local TIMESTAMP_NTZ"
    text = {"id": 1, "at": "2024-01-31T10:00:00Z", "local": "2024-01-31T10:00:00"}
    (row,) = from_debezium(feed(spark, event("c", None, text)), "the value", schema).collect()
    assert [str(row.at)[:19], str(row.local)] == ["2024-01-31 10:00:00", "2024-01-31 10:00:00"]
    for name, value in [("at", 1706695200000), ("at", "soon"), ("local", 1706695200000)]:
        events = feed(spark, event("c", None, {**text, name: value}))
        with pytest.raises(PySparkException, match="The Debezium event is refused"):
            from_debezium(events, "the value", schema).collect()
    with pytest.raises(UnsupportedError):
        from_debezium(events, "the value", "id INT, times ARRAY<TIMESTAMP>")


def test_a_feed_goes_into_a_table_in_the_order_of_its_log(spark: SparkSession, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} ({SCHEMA}, lsn BIGINT, changed BIGINT, PRIMARY KEY (id))"
        " TBLPROPERTIES ('write.upsert.enabled'='true', 'write.upsert.sequence-field'='lsn')"
    )
    values = feed(
        spark,
        event("d", BOB, None, lsn=12),
        event("u", ANN, {**ANN, "name": "Anna"}, lsn=11),
        event("c", None, BOB, lsn=10),
        event("c", None, ANN, lsn=9),
    )
    changes = from_debezium(values, "the value", SCHEMA, {"lsn": "source.lsn", "changed": "ts_ms"})
    changes.writeTo(table_name).append()
    rows = spark.sql(f"SELECT id, name, lsn, changed FROM {table_name}").collect()
    assert [tuple(row) for row in rows] == [(1, "Anna", 11, 1011)]


def test_an_event_that_is_refused_writes_nothing(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} ({SCHEMA}, PRIMARY KEY (id))")
    changes = from_debezium(feed(spark, event("c", None, ANN), "{"), "the value", SCHEMA)
    with pytest.raises(PySparkException, match="The Debezium event is refused"):
        changes.writeTo(table_name).option("upsert-enabled", "true").append()
    assert spark.table(table_name).count() == 0
