"""Statements on tables with random names of columns leave the rows that a list of rows says; a seed replays."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Row, SparkSession

from session.names.random_names import KEYED, PLAIN, NamedTable, insert_columns, quoted, value_of

STEPS = 7
SEEDS = [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 6))]
# Names that are of two columns or fields, or are taken for the other one's, which has another type or other fields.
_REFUSALS = {
    "AMBIGUOUS_REFERENCE",
    "AMBIGUOUS_REFERENCE_TO_FIELDS",
    "COLUMN_ALREADY_EXISTS",
    "DUPLICATE_ASSIGNMENTS",
    "FIELD_NOT_FOUND",
    "INVALID_ATTRIBUTE_NAME_SYNTAX",
    "UNSUPPORTED_NESTED_ASSIGNMENT",
}
KINDS = ("plain", "partitioned", "keyed", "bucketed")


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_are_those_of_a_list(spark: SparkSession, table_name: str, seed: int) -> None:
    rng = random.Random(f"names {seed}")
    kind, exact = KINDS[seed % len(KINDS)], bool(seed // 2 % 2)
    table = NamedTable(rng, exact, keyed=kind in ("keyed", "bucketed"))
    spark.conf.set("spark.sql.caseSensitive", str(exact).lower())
    try:
        spark.sql(f"CREATE TABLE {table_name} ({table.definition()}){_layout(kind, table)}")
        for step in range(STEPS):
            before = list(table.rows)
            if step == 4:
                told = "DataFrame"
                _append(spark, table, table_name)
            else:
                make = insert_columns if step == 0 else rng.choice((*PLAIN, *(KEYED * 2 if table.keyed else ())))
                told = make(table, table_name)
                spark.sql(told)
            _check(spark, table, table_name, (seed, step, told, before))
    finally:
        spark.conf.set("spark.sql.caseSensitive", "false")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_statement_where_case_has_no_meaning_any_more_is_refused_or_means_what_it_says(
    spark: SparkSession, table_name: str, seed: int
) -> None:
    """Of a table that was made where it had one; names may be of two columns, or fields, each."""
    rng = random.Random(f"names without case {seed}")
    table = NamedTable(rng, True, keyed=bool(seed % 2))
    done = 0
    try:
        spark.conf.set("spark.sql.caseSensitive", "true")
        spark.sql(f"CREATE TABLE {table_name} ({table.definition()}){_layout(rng.choice(KINDS[:2]), table)}")
        for step in range(STEPS):
            before = list(table.rows)
            told = (insert_columns if step == 0 else rng.choice((*PLAIN, *(KEYED if table.keyed else ()))))(
                table, table_name
            )
            spark.conf.set("spark.sql.caseSensitive", str(step == 0).lower())
            refusal = _refusal(spark, told)
            assert refusal is None or refusal in _REFUSALS, told
            table.rows, done = (table.rows, done + 1) if refusal is None else (before, done)
            spark.conf.set("spark.sql.caseSensitive", "true")
            _check(spark, table, table_name, (seed, step, told, before))
    finally:
        spark.conf.set("spark.sql.caseSensitive", "false")
    assert done


def _refusal(spark: SparkSession, statement: str) -> str | None:
    try:
        spark.sql(statement)
    except AnalysisException as refusal:
        return str(refusal.getCondition())
    return None


def _layout(kind: str, table: NamedTable) -> str:
    rng = table.rng
    mode = rng.choice(("merge-on-read", "copy-on-write", "auto"))
    properties = {f"write.{verb}.mode": mode for verb in ("delete", "update", "merge")}
    properties["format-version"] = rng.choice("23")
    if kind == "bucketed":
        properties |= {"bucket": "2", "bucket-key": quoted(table.names[0])}
    if kind == "keyed" and rng.random() < 0.5:
        properties["write.upsert.mode"] = "equality"
    if kind == "partitioned":
        path, _ = rng.choice(table.paths)
        other, _ = rng.choice([one for one in table.paths if one[0] != path])
        terms = f" PARTITIONED BY ({quoted(*path)} AS p1, bucket(2, {quoted(*other)}) AS p2)"
    else:
        terms = ""
    pairs = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    return f"{terms} TBLPROPERTIES ({pairs})"


def _append(spark: SparkSession, table: NamedTable, target: str) -> None:
    """By name, in another order of the columns."""
    rows = [table.random_row(key) for key in table.fresh_keys(2)]
    table.rows += rows
    places = table.rng.sample(range(len(table.columns)), len(table.columns))
    spark.sql(table.select(rows, places)).writeTo(target).append()


def _check(spark: SparkSession, table: NamedTable, target: str, told: Any) -> None:
    stored = [_plain(row) for row in spark.table(target).collect()]
    assert sorted(stored, key=repr) == sorted(table.rows, key=repr), told
    wanted: list[Any] = []
    aggregates: list[str] = []
    for path, places in table.paths:
        values = [value for row in table.rows if (value := value_of(row, places)) is not None]
        wanted += [min(values, default=None), max(values, default=None), len(values)]
        aggregates += [f"{function}({quoted(*path)})" for function in ("min", "max", "count")]
    answer: DataFrame = spark.sql(f"SELECT {', '.join(aggregates)} FROM {target}")
    assert list(answer.collect()[0]) == wanted, told
    path, places = table.rng.choice(table.paths)
    number = table.rng.randint(0, 9)
    found = spark.sql(f"SELECT {quoted(table.names[0])} FROM {target} WHERE {quoted(*path)} = {number}").collect()
    assert sorted(row[0] for row in found) == sorted(row[0] for row in table.rows if value_of(row, places) == number), (
        path,
        number,
        told,
    )


def _plain(value: Any) -> Any:
    return tuple(map(_plain, value)) if isinstance(value, Row) else value
