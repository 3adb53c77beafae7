"""Upserts against a plain model and against DuckDB, and by the options of a DataFrame."""

from __future__ import annotations

import random
from typing import Any

import duckdb
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

Events = list[tuple[int, str | None, int | None, str]]
COLUMNS = "id int, v string, at int"


def rows_of(spark: SparkSession, table: str) -> dict[int, tuple[Any, ...]]:
    rows = spark.table(table).collect()
    found = {row[0]: tuple(row)[1:] for row in rows}
    assert len(found) == len(rows)
    return found


def applied(stored: dict[int, tuple[Any, ...]], events: Events, *, compares_stored: bool) -> dict[int, tuple[Any, ...]]:
    """The table after events whose order is told by their third value, null first; it is distinct for each key."""
    after = dict(stored)
    for key in {event[0] for event in events}:
        _, value, at, kind = max((e for e in events if e[0] == key), key=lambda e: (e[2] is not None, e[2] or 0))
        if compares_stored and key in after:
            before = after[key][1]
            if (before is not None, before or 0) > (at is not None, at or 0):
                continue
        if kind in ("+I", "+U"):
            after[key] = (value, at)
        else:
            after.pop(key, None)
    return after


def random_events(rng: random.Random) -> Events:
    events: Events = []
    for key in rng.sample(range(12), rng.randint(1, 8)):
        moments = rng.sample([None, *range(9)], rng.randint(1, 3))
        events += [(key, rng.choice("abc"), at, rng.choice(["+I", "+U", "-D", "-U"])) for at in moments]
    rng.shuffle(events)
    return events


@pytest.mark.turns(1)
@pytest.mark.parametrize(
    "properties",
    [
        {"write.upsert.mode": "resolved", "format-version": "2"},
        {"write.upsert.mode": "resolved", "format-version": "3", "write.merge.mode": "copy-on-write"},
        {"write.upsert.mode": "equality", "format-version": "3"},
    ],
    ids=lambda properties: "-".join(properties.values()),
)
def test_changelogs_give_what_a_plain_model_gives(
    spark: SparkSession, table_name: str, properties: dict[str, str]
) -> None:
    listed = ", ".join(f"'{name}'='{value}'" for name, value in properties.items())
    spark.sql(
        f"CREATE TABLE {table_name} ({COLUMNS}, PRIMARY KEY (id)) PARTITIONED BY (bucket(2, id))"
        f" TBLPROPERTIES ('write.upsert.sequence-field'='at', 'write.upsert.enabled'='true', {listed})"
    )
    rng, model = random.Random(5), {}
    for _ in range(4):
        events = random_events(rng)
        spark.createDataFrame(events, f"{COLUMNS}, _row_kind string").writeTo(table_name).append()
        model = applied(model, events, compares_stored=properties["write.upsert.mode"] == "resolved")
        assert rows_of(spark, table_name) == model, events


def test_on_conflict_gives_what_duckdb_gives(spark: SparkSession, table_name: str) -> None:
    """But for a key that comes twice: DuckDB takes what comes last, PostgreSQL refuses it as we do."""
    create = "(id INT, v STRING, n INT, PRIMARY KEY (id))"
    spark.sql(f"CREATE TABLE {table_name} {create}")
    judge = duckdb.connect()
    judge.execute(f"CREATE TABLE t {create}")
    clauses = [
        "ON CONFLICT DO NOTHING",
        "ON CONFLICT (id) DO UPDATE SET n = t.n + excluded.n WHERE t.v <> excluded.v",
        "ON CONFLICT (id) DO UPDATE SET v = upper(excluded.v), n = NULL",
        "ON CONFLICT (id) DO UPDATE SET v = excluded.v, n = excluded.n",
        "ON CONFLICT (id) DO UPDATE SET n = coalesce(t.n, 0) - 1 WHERE excluded.n > 3",
    ]
    rng = random.Random(3)
    for clause in clauses:
        keys = rng.sample(range(8), 5)
        values = ", ".join(f"({key}, '{rng.choice('xyz')}', {rng.randint(0, 9)})" for key in keys)
        judge.execute(f"INSERT INTO t VALUES {values} {clause}")
        spark.sql(f"INSERT INTO {table_name} AS t VALUES {values} {clause}")
        expected = {row[0]: row[1:] for row in judge.execute("SELECT * FROM t").fetchall()}
        assert rows_of(spark, table_name) == expected, (clause, values)
    twice = "VALUES (1, 'x', 1), (1, 'y', 2) ON CONFLICT (id) DO UPDATE SET n = excluded.n"
    with pytest.raises(PySparkException) as refusal:
        spark.sql(f"INSERT INTO {table_name} AS t {twice}")
    assert refusal.value.getCondition() == "DUPLICATE_KEY"


def test_the_option_of_a_data_frame(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} ({COLUMNS}, PRIMARY KEY (id))")
    first = spark.createDataFrame([(1, "a", 1), (2, "b", 2)], COLUMNS)
    first.writeTo(table_name).append()
    by_name = spark.createDataFrame([("B", 2), ("c", 3)], "v string, id int").selectExpr("*", "0 AS at")
    by_name.writeTo(table_name).option("upsert-enabled", "true").append()
    kinds = spark.createDataFrame([("-D", 1, None, None), ("+I", 4, "d", 4)], f"_row_kind string, {COLUMNS}")
    kinds.write.option("upsert-enabled", "true").insertInto(table_name)
    assert rows_of(spark, table_name) == {2: ("B", 0), 3: ("c", 0), 4: ("d", 4)}
    with pytest.raises(PySparkException) as refusal:
        first.writeTo(table_name).option("upsert-enabled", "true").overwritePartitions()
    assert refusal.value.getCondition() == "UPSERT_WITH_OVERWRITE"


WAYS = {
    "position": "'format-version'='2'",
    "vectors": "'format-version'='3'",
    "copy": "'format-version'='3', 'write.merge.mode'='copy-on-write'",
    "first format": "'format-version'='1'",
    "auto": "'format-version'='3', 'write.merge.mode'='auto'",
    "equality": "'format-version'='3', 'write.upsert.mode'='equality'",
}
STATEMENTS = (
    "UPSERT INTO {t} {rows}",
    "MERGE INTO {t} AS t USING ({rows}) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *"
    " WHEN NOT MATCHED THEN INSERT *",
)


@pytest.mark.turns(1)
@pytest.mark.parametrize("way", WAYS)
def test_all_rows_of_a_key_that_the_table_has_more_than_once_are_replaced_by_one(
    spark: SparkSession, table_name: str, way: str
) -> None:
    """What the driver looks up, and what Spark joins, as nobody knows how many rows an `explode` gives."""
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ({WAYS[way]})")
    few = "SELECT id, 'new' AS v FROM VALUES (1), (3) AS s(id)"
    unknown = "SELECT explode(array(1, 3)) AS id, 'new' AS v"
    for rows, statement in ((few, STATEMENTS[0]), (unknown, STATEMENTS[0]), (unknown, STATEMENTS[1])):
        spark.sql(f"INSERT OVERWRITE {table_name} VALUES (1, 'a'), (2, 'b'), (1, 'c')")
        spark.sql(f"INSERT INTO {table_name} VALUES (1, 'd')")
        answer = spark.sql(statement.format(t=table_name, rows=rows)).first()
        if way != "equality":
            assert tuple(answer) == (4, 1, 1, 2), (rows, statement)
        assert rows_of(spark, table_name) == {1: ("new",), 2: ("b",), 3: ("new",)}
    for source in ("(2, 'x'), (2, 'y')", "(1, 'x'), (1, 'y')"):
        spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b')")
        with pytest.raises(PySparkException) as refusal:
            spark.sql(f"UPSERT INTO {table_name} SELECT explode(array(id)), v FROM VALUES {source} AS s(id, v)")
        assert refusal.value.getCondition() == "DUPLICATE_KEY"


def test_a_row_that_lies_before_one_of_the_rows_of_its_key_is_passed_over(spark: SparkSession, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} ({COLUMNS}, PRIMARY KEY (id)) TBLPROPERTIES ('write.upsert.sequence-field'='at')"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a', 5), (1, 'b', 9), (2, 'c', NULL), (2, 'd', 3)")
    spark.sql(f"UPSERT INTO {table_name} VALUES (1, 'x', 7), (2, 'y', 3)")
    assert sorted(map(tuple, spark.table(table_name).collect())) == [(1, "a", 5), (1, "b", 9), (2, "y", 3)]
    spark.sql(f"UPSERT INTO {table_name} VALUES (1, 'z', 9)")
    assert rows_of(spark, table_name) == {1: ("z", 9), 2: ("y", 3)}
