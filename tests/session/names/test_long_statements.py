"""Long and deep statements from end to end: done at the sizes that Spark takes, or refused by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import count
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from long_conditions import LONG_CONDITIONS
from small_tables import SCHEMA, Writer, warehouse_catalog
from sqlext.spec.metadata.metadata_shape import MAX_TYPES
from sqlext.spec.nesting import MAX_LEVELS
from sqlext.spec.schema import Schema
from sqlext.spec.types import IntegerType, ListType, MapType, NestedField, StringType, StructType, Type

QUICK_ONES = ("in", "sum", "union", "case in case")
"""Conditions whose statements take seconds."""
ROWS = [(id, id, str(id), None) for id in range(10)]


@pytest.fixture
def table(spark: SparkSession, table_name: str) -> str:
    spark.sql(f"CREATE TABLE {table_name} (id INT, a INT, s STRING, v STRING)")
    spark.sql(f"INSERT INTO {table_name} SELECT id, id, id, NULL FROM range(10)")
    return table_name


def _rows(spark: SparkSession, table: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in spark.table(table).collect())


@pytest.mark.turns(1)
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind in QUICK_ONES else pytest.mark.long) for kind in LONG_CONDITIONS]
)
def test_every_statement_takes_a_long_condition(spark: SparkSession, table: str, kind: str) -> None:
    condition = LONG_CONDITIONS[kind]
    text = condition.text(condition.size)
    holding = [row for row in ROWS if condition.holds(row[0], row[1])]
    others = [row for row in ROWS if row not in holding]
    found = spark.sql(f"SELECT * FROM {table} WHERE {text}")
    assert sorted(map(tuple, found.collect())) == holding

    spark.sql(f"INSERT INTO {table} SELECT id + 20, a, s, 'new' FROM {table} WHERE {text}")
    copies = [(id + 20, a, s, "new") for id, a, s, _ in holding]
    assert _rows(spark, table) == sorted([*ROWS, *copies])
    spark.sql(f"DELETE FROM {table} WHERE id >= 20")

    spark.sql(f"UPDATE {table} SET v = CAST(({text}) AS STRING) WHERE {text}")
    changed = [*((id, a, s, "true") for id, a, s, _ in holding), *others]
    assert _rows(spark, table) == sorted(changed, key=lambda row: row[0])

    # The condition's names are of the source, as an INSERT sees no other table.
    spark.sql(
        f"MERGE INTO {table} USING (SELECT * FROM VALUES (103, 3, '3'), (104, 4, '4') AS x (id, a, s)) x"
        f" ON {table}.id = x.id WHEN MATCHED THEN DELETE"
        f" WHEN NOT MATCHED AND {text} THEN INSERT (id, a, s, v) VALUES (id, a, s, CAST(({text}) AS STRING))"
    )
    given = [(id, a, str(a), "true") for id, a in ((103, 3), (104, 4)) if condition.holds(id, a)]
    assert _rows(spark, table) == sorted([*changed, *given], key=lambda row: row[0])

    if "SELECT" not in text:
        spark.sql(f"ALTER TABLE {table} ADD CONSTRAINT long CHECK (v IS NULL OR ({text}))")
        spark.sql(f"INSERT INTO {table} SELECT id, a, s, 'x' FROM {table} WHERE id = {holding[0][0]}")
        with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION"):
            spark.sql(f"INSERT INTO {table} SELECT id, a, s, 'x' FROM {table} WHERE id = {others[0][0]}")
    spark.sql(f"DELETE FROM {table} WHERE {text}")
    left = spark.sql(f"SELECT id, a FROM {table}").collect()
    assert sorted(id for id, a in left if id < 10) == [row[0] for row in others]
    assert not any(condition.holds(id, a) for id, a in left)


def test_thousands_of_conditions(spark: SparkSession, table: str) -> None:
    """They reach Parquet's reader, which serializes them in a task."""
    condition = LONG_CONDITIONS["and"]
    # Spark 4.2 and 4.3 go deeper for each: half of them exhaust the default stack in a table of Parquet files.
    text = condition.text(2_000 if spark.version < "4.2" else 1_000)
    assert spark.sql(f"SELECT * FROM {table} WHERE {text}").count() == 9
    spark.sql(f"UPDATE {table} SET v = 'x' WHERE {text}")
    changed = [(id, a, s, "x" if condition.holds(id, a) else v) for id, a, s, v in ROWS]
    assert _rows(spark, table) == changed


_REFUSED = r"FAILED_TO_PARSE_TOO_COMPLEX|TOO_DEEPLY_NESTED"
STATEMENTS = (
    "DELETE FROM {table} WHERE {text}",
    "UPDATE {table} SET a = CAST(({text}) AS INT)",
    "INSERT INTO {table} SELECT id, a, s, v FROM {table} WHERE {text}",
    "MERGE INTO {table} t USING (SELECT 3 AS k) x ON t.id = k WHEN MATCHED AND {text} THEN DELETE",
    "ALTER TABLE {table} ADD CONSTRAINT c CHECK ({text})",
    "CREATE VIEW {table}_v AS SELECT id FROM {table} WHERE {text}",
    "CREATE TABLE {table}_c AS SELECT id FROM {table} WHERE {text}",
)


@pytest.mark.parametrize("kind", ["not", "calls", pytest.param("by turns", marks=pytest.mark.long)])
def test_what_nests_too_deeply_is_refused_by_name_and_changes_nothing(
    spark: SparkSession, table: str, kind: str
) -> None:
    text = LONG_CONDITIONS[kind].text(1_000)
    for statement in STATEMENTS:
        with pytest.raises(PySparkException, match=_REFUSED):
            spark.sql(statement.format(table=table, text=text)).collect()
    # Spark's own parser reads this one, and may have no stack for it.
    with pytest.raises((PySparkException, Py4JJavaError), match=rf"{_REFUSED}|StackOverflowError"):
        spark.sql(f"INSERT INTO {table} REPLACE WHERE {text} SELECT 3, 3, '3', 'x'")
    assert _rows(spark, table) == ROWS
    assert not spark.catalog.tableExists(f"{table}_c")
    assert not spark.catalog.tableExists(f"{table}_v")
    assert spark.sql(f"SELECT * FROM {table}.snapshots").count() == 1


def test_a_stack_that_spark_exhausts_is_told_by_name(spark: SparkSession, table: str) -> None:
    """Spark's parser takes this sum, and its optimizer overflows on it, in one thread or another."""
    text = LONG_CONDITIONS["sum"].text(1_000)
    for statement in STATEMENTS[:2]:
        with pytest.raises(PySparkException, match=_REFUSED):
            spark.sql(statement.format(table=table, text=text)).collect()
    assert _rows(spark, table) == ROWS


def test_filters_in_a_chain(spark: SparkSession, table: str) -> None:
    def chained(rows: DataFrame) -> DataFrame:
        # Spark's own analyzer overflows at some 500 of them on any table.
        return reduce(lambda rows, number: rows.where(f"a <> {1_000 + number}"), range(300), rows)

    assert chained(spark.table(table)).where("id <> 3").count() == 9
    chained(spark.table(table)).where("id = 3").selectExpr("id + 20 AS id", "a", "s", "v").writeTo(table).append()
    assert _rows(spark, table) == [*ROWS, (23, 3, "3", None)]


def test_wide_tables(spark: SparkSession, table_name: str) -> None:
    wide = range(1_000)
    spark.sql(f"CREATE TABLE {table_name} ({', '.join(f'c{n} INT' for n in wide)})")
    names = ", ".join(f"c{n}" for n in wide)
    spark.sql(f"INSERT INTO {table_name} ({names}) VALUES ({', '.join(map(str, wide))})")
    spark.sql(f"UPDATE {table_name} SET {', '.join(f'c{n} = c{n} + 1' for n in wide[500:])} WHERE c0 = 0")
    spark.sql(
        f"MERGE INTO {table_name} t USING (SELECT * FROM {table_name}) s ON t.c0 = s.c0 + 1"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    row = [n if n < 500 else n + 1 for n in wide]
    assert [list(found) for found in spark.table(table_name).collect()] == [row, row]
    assert spark.table(table_name).where(" AND ".join(f"c{n} IN ({n}, {n + 1})" for n in wide[::4])).count() == 2


def test_many_clauses_queries_and_rows(spark: SparkSession, table: str) -> None:
    clauses = " ".join(f"WHEN MATCHED AND t.a = {n} THEN UPDATE SET v = '{n}'" for n in range(50, -1, -1))
    spark.sql(f"MERGE INTO {table} t USING (SELECT explode(array(3, 5)) AS k) x ON t.id = k {clauses}")
    queries = ", ".join(f"q{n} AS (SELECT {n} AS id)" for n in range(300))
    spark.sql(f"WITH {queries} INSERT INTO {table} SELECT id, id, 'w', NULL FROM q299")
    united = " UNION ALL ".join(f"SELECT {1_000 + n} AS id, {n} AS a, 'u' AS s, NULL AS v" for n in range(100))
    spark.sql(f"INSERT INTO {table} {united}")
    for number, value in enumerate(("{0}", "abs({0})")):
        rows = ", ".join(f"({100_000 * (number + 1) + n}, {value.format(n)}, 'x', NULL)" for n in range(20_000))
        spark.sql(f"INSERT INTO {table} VALUES {rows}")
    found = spark.sql(f"SELECT s, count(*), sum(a), count(v) FROM {table} WHERE id >= 299 OR v IS NOT NULL GROUP BY s")
    assert sorted(map(tuple, found.collect())) == [
        ("3", 1, 3, 1),
        ("5", 1, 5, 1),
        ("u", 100, sum(range(100)), 0),
        ("w", 1, 299, 0),
        ("x", 40_000, 2 * sum(range(20_000)), 0),
    ]


# Types


def _struct(inner: str) -> str:
    return f"STRUCT<f: {inner}>"


NESTS: dict[str, tuple[int, Callable[[str], str], Callable[[str], str]]] = {
    "struct": (1, _struct, lambda value: f"named_struct('f', {value})"),
    "array": (1, lambda inner: f"ARRAY<{inner}>", lambda value: f"array({value})"),
    "map": (2, lambda inner: f"MAP<STRING, {inner}>", lambda value: f"map('k', {value})"),
}


def _nested(kinds: list[str], levels: int) -> tuple[str, str]:
    """A type of at most that many levels, in which the kinds take turns, and a value of it."""
    type, value, used = "INT", "7", 0
    for number in count():
        step, of_type, of_value = NESTS[kinds[number % len(kinds)]]
        used += step
        if used > levels:
            return type, value
        type, value = of_type(type), of_value(value)
    raise AssertionError


@pytest.mark.parametrize(
    "kinds",
    [
        pytest.param(["struct"], marks=pytest.mark.long),
        pytest.param(["map"], marks=pytest.mark.long),
        ["struct", "array", "map"],
    ],
    ids=lambda kinds: kinds[-1],
)
def test_types_of_the_most_levels_are_written_in_every_way(
    spark: SparkSession, table_name: str, kinds: list[str]
) -> None:
    type, value = _nested(kinds, MAX_LEVELS)
    spark.sql(f"CREATE TABLE {table_name} (id INT, v INT, c {type})")
    spark.sql(f"INSERT INTO {table_name} SELECT -1, 0, {value}")
    # How many rows an array makes is not known before, so that workers write them.
    spark.sql(f"INSERT INTO {table_name} SELECT explode(sequence(0, 999)), 0, {value}")
    spark.sql(f"UPDATE {table_name} SET v = 1 WHERE id IN (0, 1)")
    spark.sql(f"UPDATE {table_name} SET c = NULL WHERE id = 2")
    spark.sql(
        f"MERGE INTO {table_name} t USING (SELECT id + 4 AS id, 2 AS v, c FROM {table_name} WHERE id < 0) s"
        " ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    modes = ", ".join(f"'write.{verb}.mode' = 'copy-on-write'" for verb in ("delete", "update", "merge"))
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ({modes})")
    spark.sql(f"DELETE FROM {table_name} WHERE id = 4")
    spark.sql(f"UPDATE {table_name} SET v = 5 WHERE id = 5")
    spark.sql(f"CALL lake.system.compact(table => '{table_name.removeprefix('lake.')}')")
    found = spark.sql(f"SELECT count(*), sum(v), count_if(c IS NOT NULL) FROM {table_name}")
    assert tuple(found.first()) == (1_000, 2 + 2 + 5, 999)
    (expected,) = spark.sql(f"SELECT CAST({value} AS STRING)").first()
    texts = spark.sql(f"SELECT CAST(c AS STRING) FROM {table_name} WHERE id IN (-1, 3, 5, 999)").collect()
    assert [text for (text,) in texts] == [expected] * 4


@pytest.mark.parametrize("kinds", [["struct"], ["map"], ["struct", "array", "map"]], ids=lambda kinds: kinds[-1])
@pytest.mark.parametrize("levels", [MAX_LEVELS + 2, 200])
def test_types_of_more_levels_are_made_by_no_statement(
    spark: SparkSession, table: str, kinds: list[str], levels: int
) -> None:
    type, value = _nested(kinds, levels)
    ways = (
        lambda: spark.sql(f"CREATE TABLE {table}_x (id INT, c {type})"),
        lambda: spark.sql(f"CREATE TABLE {table}_x AS SELECT 1 AS id, {value} AS c"),
        lambda: spark.sql(f"SELECT {value} AS c").writeTo(f"{table}_x").create(),
        lambda: spark.sql(f"ALTER TABLE {table} ADD COLUMN c {type}"),
        lambda: spark.sql(f"INSERT WITH SCHEMA EVOLUTION INTO {table} BY NAME SELECT 1 AS id, {value} AS c"),
    )
    for way in ways:
        with pytest.raises(PySparkException, match="TOO_DEEPLY_NESTED"):
            way()
    assert not spark.catalog.tableExists(f"{table}_x")
    assert spark.table(table).columns == ["id", "a", "s", "v"]
    assert _rows(spark, table) == ROWS


def _deep(levels: int) -> Type:
    type: Type = IntegerType()
    for level in range(levels // 4):
        key, value = 10 * level + 11, 10 * level + 12
        type = StructType((NestedField(10 * level + 10, "f", MapType(key, StringType(), value, type, False)),))
        type = ListType(10 * level + 13, type, False)
    return type


@pytest.mark.parametrize("levels", [MAX_LEVELS + 4, MAX_TYPES // 3 * 4])
def test_a_table_of_deeper_types_by_another_writer(spark: SparkSession, warehouse: Path, levels: int) -> None:
    spark.sql("DROP TABLE IF EXISTS lake.db.orders PURGE")
    writer = Writer(warehouse_catalog(warehouse), seed=levels)
    writer.create(schema=Schema((*SCHEMA.fields, NestedField(3, "deep", _deep(levels))), identifier_field_ids=(1,)))
    writer.append(*range(10))
    table = "lake.db.orders"
    assert spark.sql(f"SELECT id, region FROM {table} WHERE deep IS NULL AND id > 7").collect() == [
        (8, "eu"),
        (9, "eu"),
    ]
    spark.sql(f"DELETE FROM {table} WHERE id = 3")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN n INT")
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('write.delete.mode' = 'copy-on-write')")
    for statement in (
        "UPDATE {table} SET n = 1 WHERE id = 2",
        "UPDATE {table} SET n = 1",
        "DELETE FROM {table} WHERE id = 2",
        "INSERT INTO {table} SELECT id + 20, region, deep, n FROM {table}",
        "MERGE INTO {table} t USING (SELECT 1 AS k) x ON t.id = k WHEN MATCHED THEN UPDATE SET n = 2",
        f"ALTER TABLE {{table}} ADD COLUMN deep.element.m {_nested(['array'], levels)[0]}",
    ):
        with pytest.raises(PySparkException, match="TOO_DEEPLY_NESTED"):
            spark.sql(statement.format(table=table))
    assert spark.sql(f"SHOW CREATE TABLE {table}").first()[0].count("MAP<") == levels // 4
    assert spark.sql(f"SELECT count(*) FROM {table}.files").first()[0] == 2
    assert sorted(row.id for row in spark.table(table).select("id", "n").collect()) == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    spark.sql(f"ALTER TABLE {table} DROP COLUMN deep")
    spark.sql(f"UPDATE {table} SET n = 1 WHERE id = 2")
    assert spark.sql(f"SELECT id, region, n FROM {table} WHERE id = 2").collect() == [(2, "eu", 1)]
    spark.sql(f"DROP TABLE {table} PURGE")
