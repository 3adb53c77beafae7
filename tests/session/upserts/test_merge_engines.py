"""Merge engines against a model in plain Python, by every way in, and under writers that run at once."""

from __future__ import annotations

import random
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from judges.iceberg import IcebergJudge
from judges.merge_model import Event, MergedTable
from judges.merged_events import COLUMNS, FUNCTIONS, NESTED, OPTIONS, RETRACTING, random_batch
from streaming.json_stream import JsonStream


def _write(spark: SparkSession, table: str, batch: list[Event], columns: list[str]) -> None:
    names = ["k", *columns, "_row_kind"]
    rows = ", ".join(f"({', '.join(_typed(name, event[name]) for name in names)})" for event in batch)
    spark.sql(f"UPSERT INTO {table} ({', '.join(names)}) VALUES {rows}")


def _typed(column: str, value: Any) -> str:
    """A literal of the column's type; an empty list is a map where the column is one."""
    if value == [] and column in ("mm", "mt"):
        return f"CAST(map() AS {NESTED[column]})"
    types = {**NESTED, "co": "ARRAY<STRING>"}
    return f"CAST({_literal(value)} AS {types[column]})" if column in types else _literal(value)


def _options(functions: Mapping[str, str]) -> str:
    """The options of these columns, as table properties."""
    return ", ".join(f"'{name}'='{one}'" for name, one in OPTIONS.items() if name.split(".")[1] in functions)


def _literal(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case str():
            return f"'{value}'"
        case bytes() | bytearray():
            return f"X'{value.hex()}'"
        case list() if value and isinstance(value[0], tuple):
            return f"map({', '.join(_literal(one) for pair in value for one in pair)})"
        case list():
            return f"array({', '.join(map(_literal, value))})"
        case dict():
            return f"named_struct({', '.join(f'{name!r}, {_literal(one)}' for name, one in value.items())})"
    return str(value)


def _rows(spark: SparkSession, table: str) -> dict[int, dict[str, Any]]:
    found = {}
    for row in spark.table(table).collect():
        values = row.asDict(recursive=True)
        found[values.pop("k")] = values
    return found


def _same(rows: dict[int, dict[str, Any]], model: MergedTable, *, unordered: tuple[str, ...] = ()) -> bool:
    def value(name: str, of: Any) -> Any:
        if of is None or not (name in unordered or name in ("mm", "mt")):
            return of
        return sorted(of) if name in unordered else dict(of)

    def shown(table: dict[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
        return {key: {name: value(name, of) for name, of in row.items()} for key, row in table.items()}

    return shown(rows) == shown(model.rows)


@pytest.mark.turns(1)
@pytest.mark.parametrize(("version", "mode"), [(2, "merge-on-read"), (3, "copy-on-write")])
def test_aggregation(spark: SparkSession, iceberg: IcebergJudge, table_name: str, version: int, mode: str) -> None:
    said = ", ".join(
        f"'fields.{column}.aggregate-function'='{function}'" for column, function in FUNCTIONS.items() if column != "at"
    )
    spark.sql(
        f"CREATE TABLE {table_name} ({COLUMNS}) TBLPROPERTIES ('merge-engine'='aggregation', 'sequence.field'='at',"
        f" 'format-version'='{version}', 'write.merge.mode'='{mode}', {said}, {_options(FUNCTIONS)})"
    )
    rng = random.Random(version)
    columns = list(FUNCTIONS)
    model = MergedTable(FUNCTIONS, dict.fromkeys(columns, "at"), options=OPTIONS)
    for _ in range(4):
        batch = random_batch(rng, columns, ["+I", "+U"], 10)
        model.write(batch)
        _write(spark, table_name, batch, columns)
        assert _same(_rows(spark, table_name), model), batch
    judged = iceberg.sql(f"SELECT k, s, c FROM {table_name}")
    assert sorted(judged) == sorted([key, row["s"], row["c"]] for key, row in model.rows.items())


def test_values_are_taken_back(spark: SparkSession, table_name: str) -> None:
    functions = {name: FUNCTIONS[name] for name in RETRACTING} | {"hi": "max"}
    said = ", ".join(f"'fields.{name}.aggregate-function'='{functions[name]}'" for name in functions if name != "at")
    nested = ", ".join(f"{name} {NESTED[name]}" for name in NESTED if name in functions)
    spark.sql(
        f"CREATE TABLE {table_name} (k INT, at INT, s INT, c BIGINT, lv STRING, ln STRING, co ARRAY<STRING>, hi INT,"
        f" {nested}, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='aggregation', 'sequence.field'='at',"
        f" 'fields.hi.ignore-retract'='true', {said}, {_options(functions)})"
    )
    rng = random.Random(7)
    columns = list(functions)
    model = MergedTable(functions, dict.fromkeys(columns, "at"), ignoring=frozenset({"hi"}), options=OPTIONS)
    for number in range(4):
        # Rows of `-U` come first among those of one place: the model goes by arrival.
        batch = [
            {**event, "at": 100 * number + n - 150}
            for n, event in enumerate(random_batch(rng, columns, ["+I", "-D", "-U"], 8))
        ]
        model.write(batch)
        _write(spark, table_name, batch, columns)
        assert _same(_rows(spark, table_name), model, unordered=("co",)), batch


@pytest.mark.parametrize("removes", [True, False])
def test_partial_update(spark: SparkSession, table_name: str, removes: bool) -> None:
    said = "'partial-update.remove-record-on-delete'='true'" if removes else "'ignore-delete'='true'"
    spark.sql(
        f"CREATE TABLE {table_name} (k INT, at INT, a INT, b INT, lv STRING, PRIMARY KEY (k))"
        f" TBLPROPERTIES ('merge-engine'='partial-update', 'sequence.field'='at', {said})"
    )
    columns = ["at", "a", "b", "lv"]
    functions = {"at": "last_value", **dict.fromkeys(columns[1:], "last_non_null_value")}
    model = MergedTable(functions, dict.fromkeys(columns, "at"), removes="at" if removes else None)
    rng = random.Random(removes)
    for _ in range(5):
        batch = random_batch(rng, columns, ["+I", "+U", "-D"], 8)
        _write(spark, table_name, batch, columns)
        model.write(batch if removes else [event for event in batch if event["_row_kind"] != "-D"])
        assert _same(_rows(spark, table_name), model), batch


def test_sequence_groups(spark: SparkSession, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (k INT, a INT, lv STRING, g INT, s INT, b INT, at INT, PRIMARY KEY (k))"
        " TBLPROPERTIES ('merge-engine'='partial-update', 'fields.g.sequence-group'='a,lv',"
        " 'fields.at.sequence-group'='s,b', 'fields.s.aggregate-function'='sum')"
    )
    columns = ["a", "lv", "g", "s", "b", "at"]
    functions = {**dict.fromkeys(columns, "last_value"), "s": "sum"}
    orders = {"a": "g", "lv": "g", "g": "g", "s": "at", "b": "at", "at": "at"}
    model = MergedTable(functions, orders, grouped=frozenset(columns))
    rng = random.Random(3)
    for _ in range(4):
        batch = random_batch(rng, columns, ["+I"], 6)
        model.write(batch)
        _write(spark, table_name, batch, columns)
        assert _same(_rows(spark, table_name), model), batch


def test_a_stream_merges_in_its_order_and_once(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (k INT, s INT, la STRING, PRIMARY KEY (k)) TBLPROPERTIES"
        " ('merge-engine'='aggregation', 'fields.s.aggregate-function'='sum', 'fields.la.aggregate-function'='listagg')"
    )
    stream = JsonStream(spark, tmp_path, "k INT, s INT, la STRING")
    stream.put({"k": 1, "s": 1, "la": "a"}, {"k": 1, "s": 2, "la": "b"}, {"k": 2, "s": 5, "la": "z"})
    stream.run(table_name)
    stream.put({"k": 1, "s": 4, "la": "c"})
    stream.forget_commit_of(0)
    stream.run(table_name, "update")
    assert _rows(spark, table_name) == {1: {"s": 7, "la": "a,b,c"}, 2: {"s": 5, "la": "z"}}


def test_sums_of_writers_at_once_add_up(spark: SparkSession, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (k INT, s INT, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='aggregation',"
        " 'fields.s.aggregate-function'='sum', 'write.conflict.max-reruns'='100')"
    )

    def add(writer: int) -> None:
        for number in range(3):
            if writer % 2:
                spark.createDataFrame([(0, 1), (writer, 1)], "k INT, s INT").writeTo(table_name).append()
            else:
                spark.sql(f"INSERT INTO {table_name} VALUES (0, 1), ({writer}, {number})")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(1, 5)))
    assert {key: row["s"] for key, row in _rows(spark, table_name).items()} == {0: 12, 1: 3, 2: 3, 3: 3, 4: 3}


def test_a_plain_append_may_not_stand_beside_the_row_of_its_key(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (k INT, s INT, PRIMARY KEY (k)) TBLPROPERTIES ('merge-engine'='first-row')")
    rows = spark.createDataFrame([(1, 1)], "k INT, s INT")
    with pytest.raises(PySparkException, match="MERGE_ENGINE_BYPASSED"):
        rows.writeTo(table_name).option("upsert-enabled", "false").append()
    rows.writeTo(table_name).append()
    rows.write.insertInto(table_name)
    assert _rows(spark, table_name) == {1: {"s": 1}}


def test_of_copies_that_another_engine_left_one_is_merged(
    spark: SparkSession, iceberg: IcebergJudge, table_name: str
) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (k INT, s INT, at INT, PRIMARY KEY (k)) TBLPROPERTIES"
        " ('merge-engine'='aggregation', 'fields.s.aggregate-function'='sum', 'sequence.field'='at')"
    )
    iceberg.sql(f"INSERT INTO {table_name} VALUES (1, 10, 1), (1, 20, 2), (2, 5, 1)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1, 3)")
    assert _rows(spark, table_name) == {1: {"s": 21, "at": 3}, 2: {"s": 5, "at": 1}}
