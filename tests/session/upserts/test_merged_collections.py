"""Nested rows, maps, sketches and bitmaps of merge engines: written by turns with and without Spark, into buckets that
are compacted, beside a stored changelog, and from a stream."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import sqlext.local
from judges.iceberg import IcebergJudge
from judges.merge_model import MergedTable
from judges.merged_events import FUNCTIONS as OF_COLUMNS
from judges.merged_events import NESTED, OPTIONS, random_batch
from judges.serialized_sets import COLUMNS, FUNCTIONS, MADE, is_about
from sqlext.local import LocalTable
from sqlext.spec.merge_engine import SKETCH_FUNCTIONS
from streaming.json_stream import JsonStream

_COLLECTIONS = ["at", "ld", *NESTED]


def _local(warehouse: Path, table_name: str) -> LocalTable:
    lake = sqlext.local.open(str(warehouse), {"care": "none"})
    assert isinstance(lake, sqlext.local.LocalCatalog)
    return lake.table(table_name.removeprefix("lake."))


def _pairs(properties: dict[str, str]) -> str:
    return ", ".join(f"'{name}'='{value}'" for name, value in properties.items())


def _as_spark(column: str, value: Any) -> Any:
    """Lists of pairs as maps."""
    return dict(value) if column in ("mm", "mt") and value is not None else value


def _shown(rows: dict[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
    return {
        key: {name: dict(of) if name in ("mm", "mt") and of is not None else of for name, of in row.items()}
        for key, row in rows.items()
    }


@pytest.mark.turns(1)
@pytest.mark.parametrize(
    "properties",
    [
        {"format-version": "2", "changelog-producer": "lookup"},
        {"format-version": "3", "bucket": "1", "num-sorted-run.compaction-trigger": "2"},
        {"format-version": "3", "write.merge.mode": "copy-on-write"},
    ],
    ids=["lookup", "compacted buckets", "copy-on-write"],
)
def test_collections_are_merged_alike_by_all(
    spark: SparkSession,
    iceberg: IcebergJudge,
    warehouse: Path,
    table_name: str,
    properties: dict[str, str],
    seed: int,
) -> None:
    functions = {name: OF_COLUMNS[name] for name in _COLLECTIONS}
    types = {"at": "INT", "ld": "STRING", **NESTED}
    columns = ", ".join(f"{name} {types[name]}" for name in _COLLECTIONS)
    said = {f"fields.{name}.aggregate-function": function for name, function in functions.items() if name != "at"}
    options = {name: value for name, value in OPTIONS.items() if name.split(".")[1] in functions}
    spark.sql(
        f"CREATE TABLE {table_name} (k INT, {columns}, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='aggregation',"
        f" 'sequence.field'='at', {_pairs({**properties, **said, **options})})"
    )
    rng = random.Random(seed)
    model = MergedTable(functions, dict.fromkeys(functions, "at"), options=options)
    first = None
    for number in range(6):
        batch = [
            {**event, "at": 10 * n + rng.randrange(-30, 30)}
            for n, event in enumerate(random_batch(rng, list(functions), ["+I"], 8))
        ]
        places = [(event["k"], event["at"]) for event in batch]
        # Rows of a DataFrame have no order but that of the sequence field.
        batch = [event for event, place in zip(batch, places, strict=True) if places.count(place) == 1]
        model.write(batch)
        # Only Spark stores the changelog of a change that reads rows.
        if number % 2 and "changelog-producer" not in properties:
            _local(warehouse, table_name).upsert([{**event} for event in batch])
        else:
            rows = [(event["k"], *(_as_spark(name, event[name]) for name in functions)) for event in batch]
            spark.createDataFrame(rows, f"k INT, {columns}").writeTo(table_name).append()
        found = {row.k: row.asDict(recursive=True) for row in spark.table(table_name).collect()}
        assert [row.pop("k") for row in found.values()] == list(found)
        assert _shown(found) == _shown(model.rows), batch
        if first is None:
            first = spark.sql(f"SELECT snapshot_id FROM {table_name}.snapshots ORDER BY committed_at LIMIT 1").head()
    assert first is not None
    assert iceberg.sql(f"SELECT count(*), count(nu) FROM {table_name}") == [
        [len(model.rows), sum(row["nu"] is not None for row in model.rows.values())]
    ]
    changes = spark.sql(f"SELECT _change_type, k, ld FROM table_changes('{table_name}', {first.snapshot_id})").collect()
    told = defaultdict[Any, int](int)
    for row in spark.sql(f"SELECT k, ld FROM {table_name} VERSION AS OF {first.snapshot_id}").collect():
        told[row.k, row.ld] += 1
    for row in changes:
        told[row.k, row.ld] += -1 if row._change_type in ("DELETE", "UPDATE_BEFORE") else 1
    assert {row for row, count in told.items() if count} == {(key, row["ld"]) for key, row in model.rows.items()}


def test_sets_are_united_alike_by_all(spark: SparkSession, warehouse: Path, table_name: str, seed: int) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (k INT, {COLUMNS}, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='aggregation',"
        f" {_pairs(FUNCTIONS)})"
    )
    rng, model = random.Random(seed), defaultdict[tuple[int, str], set[int]](set)
    for number in range(4):
        batch = []
        for _ in range(4):
            row: dict[str, Any] = {"k": rng.randrange(3)}
            for name in SKETCH_FUNCTIONS:
                numbers = rng.sample(range(40_000), rng.choice([0, 3, 6000]))
                row[name] = rng.choice([None, MADE[name](numbers)])
                if row[name] is not None:
                    model[row["k"], name] |= set(numbers)
            batch.append(row)
        if number % 2:
            _local(warehouse, table_name).upsert(batch)
        else:
            rows = spark.createDataFrame([tuple(row.values()) for row in batch], f"k INT, {COLUMNS}")
            rows.writeTo(table_name).append()
        for stored in spark.table(table_name).collect():
            for name in SKETCH_FUNCTIONS:
                if (stored.k, name) in model:
                    assert is_about(name, bytes(stored[name]), model[stored.k, name]), (stored.k, name)
                else:
                    assert stored[name] is None


def test_spark_makes_and_counts_sketches(spark: SparkSession, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (k INT, users BINARY, PRIMARY KEY (k)) TBLPROPERTIES"
        " ('merge-engine'='aggregation', 'fields.users.aggregate-function'='hll_sketch')"
    )
    for first in (0, 50, 100):
        spark.sql(
            f"UPSERT INTO {table_name} SELECT id % 2, hll_sketch_agg(id) FROM range({first}, {first + 100}) GROUP BY 1"
        )
    counted = spark.sql(f"SELECT k, hll_sketch_estimate(users) AS n FROM {table_name} ORDER BY k").collect()
    assert [(row.k, row.n) for row in counted] == [(0, 100), (1, 100)]


def test_other_bytes_are_refused(spark: SparkSession, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (k INT, {COLUMNS}, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='aggregation',"
        f" {_pairs(FUNCTIONS)})"
    )
    for name in SKETCH_FUNCTIONS:
        for value in ("", "616263", "01" * 60, "ff" * 30):
            with pytest.raises(Exception, match=f"A value of column {name} is no {name}"):
                spark.sql(f"UPSERT INTO {table_name} (k, {name}) VALUES (1, X'{value}')")
    assert spark.table(table_name).count() == 0


@pytest.mark.parametrize("written_by", ["spark", "local"])
def test_keys_are_equal_whose_numbers_are(
    spark: SparkSession, warehouse: Path, table_name: str, written_by: str
) -> None:
    """-0.0 is 0.0, and NaN is itself, also in structs and arrays of a key."""
    spark.sql(
        f"CREATE TABLE {table_name} (k INT, a ARRAY<STRUCT<s: STRUCT<d: DOUBLE>, f: ARRAY<FLOAT>, d: DOUBLE, n: INT>>,"
        " PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='aggregation', 'fields.a.aggregate-function'='nested_update',"
        " 'fields.a.nested-key'='s, f, d')"
    )
    for n, number in enumerate((0.0, float("nan"), -0.0, float("nan"))):
        if written_by == "local":
            rows = [{"k": 1, "a": [{"s": {"d": number}, "f": [number], "d": number, "n": n}]}]
            _local(warehouse, table_name).upsert(rows)
            continue
        element = f"named_struct('s', named_struct('d', double('{number}')), 'f', array(float('{number}'))"
        spark.sql(f"UPSERT INTO {table_name} SELECT 1, array({element}, 'd', double('{number}'), 'n', {n}))")
    (row,) = spark.table(table_name).collect()
    assert [one.n for one in row.a] == [2, 3]


def test_a_stream_collects_nested_rows(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (k INT, orders ARRAY<STRUCT<id: INT, price: INT>>, PRIMARY KEY (k)) TBLPROPERTIES"
        " ('merge-engine'='aggregation', 'fields.orders.aggregate-function'='nested_update',"
        " 'fields.orders.nested-key'='id')"
    )
    stream = JsonStream(spark, tmp_path, "k INT, orders ARRAY<STRUCT<id: INT, price: INT>>")
    stream.put({"k": 1, "orders": [{"id": 1, "price": 5}]}, {"k": 1, "orders": [{"id": 2, "price": 6}]})
    stream.run(table_name)
    stream.put({"k": 1, "orders": [{"id": 1, "price": 7}]})
    stream.forget_commit_of(0)
    stream.run(table_name, "update")
    (row,) = spark.table(table_name).collect()
    assert [(one.id, one.price) for one in row.orders] == [(2, 6), (1, 7)]


def test_names_of_columns_and_fields_are_quoted(spark: SparkSession, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (k INT, `s,'``x` ARRAY<STRUCT<`a,``'b`: INT, `v.w`: STRING>>,"
        " `m n` MAP<STRING, STRUCT<`q'``.r`: INT, t: STRING>>, PRIMARY KEY (k)) TBLPROPERTIES"
        " ('merge-engine'='aggregation', 'fields.m n.aggregate-function'='merge_map_with_keytime',"
        " 'fields.m n.ts-field'='`q\\'``.r`', 'fields.s,\\'`x.aggregate-function'='nested_partial_update',"
        " 'fields.s,\\'`x.nested-key'='`a,``\\'b`', 'fields.s,\\'`x.nested-key-null-strategy'='error')"
    )
    for elements, entry in (("(1, 'p')", "1, 'p'"), ("(1, NULL), (2, 'z')", "2, 'q'")):
        spark.sql(
            f"INSERT INTO {table_name} SELECT 1, collect_list(named_struct('x', x, 'y', y)),"
            f" map('a', named_struct('x', {entry.split(',')[0]}, 'y', {entry.split(',')[1]}))"
            f" FROM VALUES {elements} AS given(x, y)"
        )
    (row,) = spark.table(table_name).collect()
    assert sorted(map(tuple, row[1])) == [(1, "p"), (2, "z")]
    assert {key: tuple(value) for key, value in row[2].items()} == {"a": (2, "q")}
    with pytest.raises(Exception, match="has a null in its nested-key"):
        spark.sql(f"INSERT INTO {table_name} VALUES (1, array(named_struct('x', NULL, 'y', 'p')), NULL)")
