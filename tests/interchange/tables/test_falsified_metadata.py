"""Tables whose counts, bounds and totals are absent or wrong hold the rows that a list of them does.

`SQLEXT_TEST_SEED` replays a run.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from interchange.tables.falsified_metadata import falsify
from sqlext.spec.manifests.content_file import ContentFile, ContentKey

SEED = int(os.environ.get("SQLEXT_TEST_SEED", "20261123"))
ROUNDS = 2

Row = tuple[int, str | None, tuple[int | None, float | None] | None, float | None]


def _x(row: Row) -> Any:
    return None if row[2] is None else row[2][0]


def _y(row: Row) -> Any:
    return None if row[2] is None else row[2][1]


CONDITIONS: dict[str, Callable[[Row], bool]] = {
    "s.x IS NULL": lambda row: _x(row) is None,
    "s.x IS NOT NULL": lambda row: _x(row) is not None,
    "s.x < 50": lambda row: _x(row) is not None and _x(row) < 50,
    "s.y IS NULL OR v IS NULL": lambda row: _y(row) is None or row[3] is None,
    "NOT isnan(v)": lambda row: row[3] is None or row[3] == row[3],
    "v IS NOT NULL": lambda row: row[3] is not None,
    "id > 3 AND p = 'a'": lambda row: row[0] > 3 and row[1] == "a",
    "p IS NULL": lambda row: row[1] is None,
    "id >= 0": lambda row: True,
}


def read(spark: SparkSession, table: str, condition: str = "true") -> list[Row]:
    rows = spark.sql(f"SELECT id, p, s, v FROM {table} WHERE {condition}").collect()
    return sorted(((r.id, r.p, None if r.s is None else (r.s.x, r.s.y), r.v) for r in rows), key=repr)


def check(spark: SparkSession, random: Random, table: str, model: list[Row], clue: str) -> None:
    assert [repr(row) for row in read(spark, table)] == sorted(map(repr, model)), clue
    for condition, holds in random.sample(sorted(CONDITIONS.items()), 4):
        expected = sorted(repr(row) for row in model if holds(row))
        assert [repr(row) for row in read(spark, table, condition)] == expected, (clue, condition)
    counted = spark.sql(f"SELECT count(*), count(v), count(s.x), count(p), min(id), max(id) FROM {table}").collect()[0]
    columns = ([row[3] for row in model], [_x(row) for row in model], [row[1] for row in model])
    ids = [row[0] for row in model]
    present = [sum(value is not None for value in column) for column in columns]
    assert list(counted) == [len(model), *present, min(ids, default=None), max(ids, default=None)], clue


def random_row(random: Random, number: int) -> Row:
    lacks = random.random() < 0.4
    struct = None if lacks else (random.choice((None, 1, 60)), random.choice((None, 2.5, 0.5)))
    return number, random.choice(("a", "a", "b", None)), struct, random.choice((None, 1.5, -2.0, float("nan")))


def insert(spark: SparkSession, table: str, rows: list[Row]) -> None:
    frame = spark.createDataFrame(rows, "id BIGINT, p STRING, s STRUCT<x: INT, y: DOUBLE>, v DOUBLE").coalesce(1)
    frame.writeTo(table).append()


@pytest.mark.turns(2)
@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("partitioning", ["", "PARTITIONED BY (p)"])
def test_rows_are_those_of_a_model(
    spark: SparkSession, warehouse: Path, table_name: str, version: int, partitioning: str
) -> None:
    clue = f"SQLEXT_TEST_SEED={SEED} version {version} {partitioning}"
    random = Random(clue)
    spark.sql(
        f"CREATE TABLE {table_name} (id BIGINT, p STRING, s STRUCT<x: INT, y: DOUBLE>, v DOUBLE) {partitioning}"
        f" TBLPROPERTIES ('format-version'='{version}', 'write.delete.mode'='merge-on-read')"
    )
    folder = warehouse.joinpath(*table_name.split(".")[1:])
    model: list[Row] = []
    honest: dict[ContentKey, ContentFile] = {}
    for turn in range(ROUNDS):
        for size in (1, 5):
            rows = [random_row(random, len(model) + 100 * turn + number) for number in range(size)]
            insert(spark, table_name, rows)
            model += rows
        falsify(random, folder, honest)
        check(spark, random, table_name, model, f"{clue} turn {turn}")
        gone = random.choice([row[0] for row in model])
        statements = {f"id = {gone}": lambda row, gone=gone: row[0] == gone}  # type: ignore[misc]
        condition = random.choice([one for one in CONDITIONS if one != "id >= 0"])
        statements[f"({condition}) AND id % 3 <> 1" if random.random() < 0.4 else condition] = CONDITIONS[condition]
        for condition, holds in statements.items():
            spark.sql(f"DELETE FROM {table_name} WHERE {condition}")
            keeps_some = "% 3" in condition
            model = [row for row in model if not (holds(row) and not (keeps_some and row[0] % 3 == 1))]
        falsify(random, folder, honest)
        check(spark, random, table_name, model, f"{clue} turn {turn}, after {list(statements)}")


@pytest.mark.parametrize("version", [2, 3])
def test_deletes_by_key_of_falsified_metadata(
    spark: SparkSession, warehouse: Path, table_name: str, version: int
) -> None:
    clue = f"SQLEXT_TEST_SEED={SEED} version {version}"
    random = Random(clue)
    spark.sql(
        f"CREATE TABLE {table_name} (id BIGINT, p STRING, s STRUCT<x: INT, y: DOUBLE>, v DOUBLE, PRIMARY KEY (id))"
        f" TBLPROPERTIES ('format-version'='{version}', 'write.upsert.mode'='equality')"
    )
    folder = warehouse.joinpath(*table_name.split(".")[1:])
    model: dict[int, Row] = {}
    honest: dict[ContentKey, ContentFile] = {}
    for turn in range(ROUNDS):
        rows = {number: random_row(random, number) for number in random.sample(range(20), 6)}
        insert_by_key = spark.createDataFrame(
            list(rows.values()), "id BIGINT, p STRING, s STRUCT<x: INT, y: DOUBLE>, v DOUBLE"
        )
        insert_by_key.coalesce(1).createOrReplaceTempView("falsified_source")
        spark.sql(f"UPSERT INTO {table_name} SELECT * FROM falsified_source")
        model |= rows
        falsify(random, folder, honest)
        check(spark, random, table_name, list(model.values()), f"{clue} turn {turn}")
