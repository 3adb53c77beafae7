"""Rows by their keys: what `sqlext.lookup` reads without a query is what the statement gives."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

import sqlext
from judges.looked_up_rows import both_ways, by_process
from sessions import planned
from sqlext.errors import DataError, SqlextError, UnsupportedError
from sqlext.spark.scan import rows_of_keys
from sqlext.spark.shim.shim_jar import installed_spark

COLUMNS = """
name STRING, amount DECIMAL(20, 2), point STRUCT<x: BIGINT, inner: STRUCT<y: STRING, at: TIMESTAMP>>,
items ARRAY<BIGINT>, days ARRAY<DATE>, flags MAP<STRING, BINARY>, day DATE, flag BOOLEAN, ratio FLOAT, root DOUBLE,
hash BINARY, at TIMESTAMP, clock TIMESTAMP_NTZ, token UUID
"""
PLAIN = ("name", "amount", "day", "flag", "ratio", "root", "hash", "at", "clock")
VALUES = """
IF(n % 5 = 0, NULL, concat('name ', n, {word})) AS name, CAST(n AS DECIMAL(20, 2)) AS amount,
named_struct('x', n, 'inner', IF(n % 6 = 0, NULL, named_struct('y', CAST(n AS STRING), 'at', timestamp_micros(n))))
AS point,
IF(n % 3 = 0, NULL, array(n, NULL, n + 1)) AS items, array(DATE'1969-12-31', NULL) AS days,
map(CAST(n AS STRING), IF(n % 2 = 0, NULL, X'00ff')) AS flags,
DATE'2024-01-01' + CAST(n % 400 AS INT) AS day, IF(n % 4 = 0, NULL, n % 3 = 0) AS flag,
CAST(n / 7 AS FLOAT) AS ratio, IF(n % 9 = 0, NULL, IF(n % 11 = 0, double('-Infinity'), sqrt(n))) AS root,
unhex(sha2(CAST(n AS STRING), 256)) AS hash, timestamp_micros(n * 86400123456 - 10000000000) AS at,
timestamp_ntz'2024-01-01 00:00:00' + make_dt_interval(0, 0, 0, n / 7) AS clock,
CAST('00000000-0000-0000-0000-' || lpad(hex(n), 12, '0') AS STRING) AS token
"""
# By name: the columns of the key, an expression of each, and the key of a number in Python.
KEYS: dict[str, tuple[list[tuple[str, str, str]], Any]] = {
    "whole": ([("id", "BIGINT", "n")], lambda n: n),
    "int": ([("select", "INT", "CAST(n AS INT)")], lambda n: n),
    "text": ([("a.b", "STRING", "'k ''' || n")], lambda n: f"k '{n}"),
    "decimal": ([("id", "DECIMAL(12, 3)", "CAST(n AS DECIMAL(12, 3)) / 8 * 8")], lambda n: Decimal(n)),
    "day": ([("id", "DATE", "DATE'1970-01-01' + CAST(n AS INT)")], lambda n: date.fromordinal(719163 + n)),
    "moment": (
        [("id", "TIMESTAMP", "timestamp_seconds(n)")],
        lambda n: datetime.fromtimestamp(n, timezone.utc),
    ),
    "clock": (
        [("id", "TIMESTAMP_NTZ", "to_timestamp_ntz('2024-01-01') + make_dt_interval(CAST(n AS INT))")],
        lambda n: datetime.fromordinal(738886 + n),
    ),
    "uuid": (
        [("id", "UUID", "'f81d4fae-7dec-11d0-a765-' || lpad(lower(hex(n)), 12, '0')")],
        lambda n: uuid.UUID(f"f81d4fae-7dec-11d0-a765-{n:012x}"),
    ),
    "bytes": ([("id", "BINARY", "encode(CAST(n AS STRING), 'utf-8')")], lambda n: str(n).encode()),
    "flag": ([("flag_", "BOOLEAN", "n % 2 = 0"), ("id", "INT", "CAST(n AS INT)")], lambda n: (n % 2 == 0, n)),
    "two": (
        [("from", "STRING", "'x' || n % 7"), ("id", "BIGINT", "n")],
        lambda n: {"ID": n, "from": f"x{n % 7}"},
    ),
}


@pytest.fixture
def far_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    """All files are read as those that are too large to be decoded whole."""
    monkeypatch.setattr(rows_of_keys, "_WHOLE_BYTES", 0)


def _created(spark: SparkSession, table: str, kind: str, layout: str, properties: dict[str, str], columns: str) -> None:
    key, _ = KEYS[kind]
    defined = ", ".join(f"`{name}` {type}" for name, type, _ in key)
    named = ", ".join(f"`{name}`" for name, _, _ in key)
    set_ = ", ".join(f"'{name}'='{value}'" for name, value in properties.items())
    spark.sql(f"CREATE TABLE {table} ({defined}, {columns}, PRIMARY KEY ({named})) {layout} TBLPROPERTIES ({set_})")


def _rows(kind: str, numbers: str, word: str = "''") -> str:
    """Rows with these numbers, a relation with the column n."""
    key = ", ".join(f"{expression} AS `{name}`" for name, _, expression in KEYS[kind][0])
    return f"SELECT {key}, {VALUES.format(word=word)} FROM {numbers}"


SHAPES = {
    "v2": ("", {"format-version": "2"}),
    "v3": ("", {"format-version": "3"}),
    "equality": ("", {"format-version": "2", "write.upsert.mode": "equality"}),
    "copy": ("", {"format-version": "2", "write.update.mode": "copy-on-write", "write.delete.mode": "copy-on-write"}),
}


@pytest.mark.turns(2)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KEYS)
def test_rows_of_a_random_history_are_those_of_the_statement(
    spark: SparkSession, table_name: str, kind: str, shape: str
) -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    key, of_number = KEYS[kind]
    layout, properties = SHAPES[shape]
    joined = shape == "equality" and not {type for _, type, _ in key} <= {"INT", "BIGINT", "DATE", "STRING"}
    if rng.random() < 0.5 and kind != "flag":
        layout = f"PARTITIONED BY (bucket({rng.randint(1, 3)}, `{key[-1][0]}`))"
    _created(spark, table_name, kind, layout, properties, COLUMNS)
    spark.sql(f"INSERT INTO {table_name} {_rows(kind, 'range(300) AS r (n)')}")
    here = f"n IN ({', '.join(str(rng.randrange(320)) for _ in range(9))})"
    changes = [
        f"UPSERT INTO {table_name} {_rows(kind, f'(SELECT id AS n FROM range(320)) WHERE {here}')}",
        f"DELETE FROM {table_name} WHERE CAST(amount AS BIGINT) % 13 = {rng.randrange(13)}",
        f"UPDATE {table_name} SET name = 'changed', token = NULL WHERE CAST(amount AS BIGINT) % 11 = 1",
        f"ALTER TABLE {table_name} ADD COLUMN extra STRING",
        f"ALTER TABLE {table_name} RENAME COLUMN day TO tag",
        f"ALTER TABLE {table_name} ALTER COLUMN ratio TYPE DOUBLE",
        f"ALTER TABLE {table_name} ALTER COLUMN items FIRST",
        f"CALL lake.system.compact('{table_name.partition('.')[2]}')",
    ]
    if properties["format-version"] == "3":
        changes.append(f"ALTER TABLE {table_name} ADD COLUMN told STRING DEFAULT 'none'")
    numbers = [rng.randrange(340) for _ in range(12)]
    for change in rng.sample(changes, len(changes)):
        if change.startswith("UPSERT"):
            names = ", ".join(f"`{one}`" for one in spark.sql(_rows(kind, "(SELECT 0L AS n)")).columns)
            names = names.replace("`day`", "`tag`") if "tag" in spark.table(table_name).columns else names
            change = change.replace(f"INTO {table_name} ", f"INTO {table_name} ({names}) ")
        spark.sql(change)
        for some in (numbers, numbers[:1]):
            told = f"seed {seed} after {change}"
            both_ways(spark, table_name, [of_number(n) for n in some], told=told, joined=joined)
    assert both_ways(spark, table_name, [of_number(n) for n in range(300)], told=f"seed {seed}", joined=joined)


@pytest.mark.turns(2)
@pytest.mark.usefixtures("far_positions")
@pytest.mark.parametrize("kind", KEYS)
def test_rows_by_position_are_those_of_the_statement(spark: SparkSession, table_name: str, kind: str) -> None:
    key, of_number = KEYS[kind]
    _created(spark, table_name, kind, "", {"format-version": "3"}, COLUMNS)
    spark.sql(f"INSERT INTO {table_name} {_rows(kind, 'range(300) AS r (n)')}")
    spark.sql(f"DELETE FROM {table_name} WHERE CAST(amount AS BIGINT) % 13 = 3")
    spark.sql(f"ALTER TABLE {table_name} ADD COLUMN extra STRING")
    spark.sql(f"ALTER TABLE {table_name} ALTER COLUMN ratio TYPE DOUBLE")
    names = [*PLAIN, "extra", *(name for name, _, _ in key)]
    for some in ([77], [3], [1, 2, 3, 4, 299, 300], list(range(300))):
        both_ways(spark, table_name, [of_number(n) for n in some], names)
        both_ways(spark, table_name, [of_number(n) for n in some], [name for name, _, _ in key])
    assert by_process(spark, table_name, [of_number(1)]) is None, "a nested column is decoded whole"


def test_bytes_are_those_of_the_session(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v BINARY, m MAP<STRING, BINARY>, PRIMARY KEY (id))")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, X'00ff', map('a', X'01'))")
    for given in ("true", "false"):
        spark.conf.set("spark.sql.execution.pyspark.binaryAsBytes", given)
        try:
            both_ways(spark, table_name, [1])
        finally:
            spark.conf.unset("spark.sql.execution.pyspark.binaryAsBytes")


def test_columns_are_those_that_are_named(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, `a.b` STRING, `Sel``ect` INT, PRIMARY KEY (id))")
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('format-version'='3')")
    spark.sql(f"ALTER TABLE {table_name} ADD COLUMN nothing VOID")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'x', 2, NULL)")
    assert both_ways(spark, table_name, [1], ["A.B", "sel`ect", "a.b"]) == [("x", 2, "x")]
    assert both_ways(spark, table_name, [1], ["ID"])[0].__fields__ == ["ID"]
    assert sqlext.lookup(spark, table_name, [1]) == [(1, "x", 2, None)]
    assert sqlext.lookup(spark, table_name, iter([1]), "a.b") == [("x",)]
    assert sqlext.lookup(spark, table_name, [1], ["_pos"]) == [(0,)]
    for keys in ([1], []):
        with pytest.raises(PySparkException, match="UNRESOLVED_COLUMN"):
            sqlext.lookup(spark, table_name, keys, ["b"])
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(PySparkException, match="UNRESOLVED_COLUMN"):
            sqlext.lookup(spark, table_name, [1], ["ID"])
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_keys_are_looked_up_once_and_many_at_a_time(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('write-only'='true')")
    spark.sql(f"INSERT INTO {table_name} SELECT id, concat('v', id) FROM range(5000)")
    assert sqlext.lookup(spark, table_name, []) == []
    assert sqlext.lookup(spark, table_name, [7, 7, 5001, 7]) == [Row(id=7, v="v7")]
    assert len(both_ways(spark, table_name, range(4500, 5500))) == 500
    assert len(both_ways(spark, table_name, [-(2**63), 2**63 - 1, 0])) == 1
    with planned(spark, driver_rows=10):
        assert by_process(spark, table_name, range(11)) is None
        assert len(sqlext.lookup(spark, table_name, range(11))) == 11


def test_a_key_that_does_not_fit_is_told(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id))")
    for way in (1, 0):
        with planned(spark, looked_up_rows=way):
            for wrong, told in (
                (2**31, "32 bits"),
                ("1", "which is INT"),
                (None, "no null"),
                ((1, 2), "a value of id"),
            ):
                with pytest.raises(DataError, match="LOOKUP_KEY_REFUSED") as refused:
                    sqlext.lookup(spark, table_name, [1, wrong])
                assert told in str(refused.value)
    spark.sql(f"ALTER TABLE {table_name} DROP PRIMARY KEY")
    with pytest.raises(UnsupportedError, match="LOOKUP_WITHOUT_KEY"):
        sqlext.lookup(spark, table_name, [1])
    with pytest.raises(PySparkException, match="TABLE_OR_VIEW_NOT_FOUND"):
        sqlext.lookup(spark, "lake.db.missing", [1])
    with pytest.raises(SqlextError, match="INVALID_NAME"):
        sqlext.lookup(spark, "lake.`db", [1])


def test_what_a_session_sees_is_looked_up(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id))")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a')")
    spark.sql(f"ALTER TABLE {table_name} CREATE TAG first")
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH side")
    spark.sql(f"INSERT INTO {table_name} VALUES (2, 'b')")
    spark.sql(f"INSERT INTO {table_name}.branch_side VALUES (3, 'c')")
    keys = [1, 2, 3]
    seen = {"": [1, 2], ".branch_side": [1, 3], ".tag_first": [1], ".ro": [1, 2]}
    for place, expected in seen.items():
        assert sorted(row.id for row in both_ways(spark, table_name + place, keys)) == expected
    other = spark.newSession()
    with sqlext.transaction(spark, "lake"):
        spark.sql(f"UPSERT INTO {table_name} VALUES (1, 'changed'), (4, 'd')")
        assert sorted(both_ways(spark, table_name, [1, 4])) == [(1, "changed"), (4, "d")]
        assert by_process(other, table_name, [1, 4]) == [(1, "a")]
    assert by_process(other, table_name, [4]) == [(4, "d")]
    spark.sql(f"DELETE FROM {table_name} WHERE id = 4")
    assert by_process(other, table_name, [4]) == []


def test_a_serializable_transaction_has_read_what_it_looked_up(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id))")
    spark.sql(f"CREATE TABLE {table_name}_more (id INT)")
    other = spark.newSession()

    def run() -> None:
        with sqlext.transaction(spark, "lake", isolation="serializable"):
            assert by_process(spark, table_name, [1]) == []
            other.sql(f"INSERT INTO {table_name} VALUES (1, 'a')")
            spark.sql(f"INSERT INTO {table_name}_more VALUES (1)")

    with pytest.raises(PySparkException, match="TRANSACTION"):
        run()


@pytest.fixture
def used(spark: SparkSession) -> Iterator[None]:
    before = spark.catalog.currentCatalog(), spark.catalog.currentDatabase()
    spark.sql("CREATE NAMESPACE lake.`a.b`")
    spark.sql("USE lake.`a.b`")
    yield
    spark.catalog.setCurrentCatalog(before[0])
    spark.catalog.setCurrentDatabase(before[1])
    spark.sql("DROP NAMESPACE lake.`a.b` CASCADE")


@pytest.mark.usefixtures("used")
def test_names_are_those_of_sql(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE `t.x` (id INT, PRIMARY KEY (id))")
    spark.sql("INSERT INTO `t.x` VALUES (1)")
    for name in ("`t.x`", "`a.b`.`t.x`", "lake.`a.b`.`t.x`", "`lake`.`a.b`.`t.x`.branch_main"):
        assert both_ways(spark, name, [1]) == [(1,)]


def test_a_key_in_a_struct_is_looked_up_by_the_statement(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (s STRUCT<id: INT NOT NULL, v: STRING> NOT NULL, `s.id` INT)")
    spark.sql(f"ALTER TABLE {table_name} SET IDENTIFIER FIELDS s.id")
    spark.sql(f"INSERT INTO {table_name} VALUES (named_struct('id', 1, 'v', 'x'), 5)")
    assert by_process(spark, table_name, [1]) is None
    assert sqlext.lookup(spark, table_name, [1, 5]) == [(Row(id=1, v="x"), 5)]


def test_what_is_not_converted_is_read_by_the_statement(spark: SparkSession, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, v VARIANT, far TIMESTAMP, PRIMARY KEY (id))"
        " TBLPROPERTIES ('format-version'='3')"
    )
    spark.sql(f"INSERT INTO {table_name} SELECT 1, parse_json('{{\"a\": 1}}'), TIMESTAMP'2024-01-01 00:00:00'")
    assert by_process(spark, table_name, [1]) is None
    if installed_spark().minor == "4.0":
        with pytest.raises(PySparkException, match="NOT_READ_BY_SPARK_4_0"):
            sqlext.lookup(spark, table_name, [1])
        return
    (found,) = sqlext.lookup(spark, table_name, [1])
    assert found.v.toJson() == '{"a":1}'
    assert len(both_ways(spark, table_name, [1], ["id", "far"])) == 1


def test_a_file_that_is_gone_is_told_by_the_statement(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id))")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a')")
    (path,) = (row[0] for row in spark.sql(f"SELECT file_path FROM {table_name}.data_files").collect())
    Path(path.removeprefix("file://")).unlink()
    assert by_process(spark, table_name, [1]) is None
    with pytest.raises(Exception, match="FILE_NOT_FOUND"):
        sqlext.lookup(spark, table_name, [1])


def test_files_without_field_ids_are_read_by_the_statement(
    spark: SparkSession, table_name: str, tmp_path: Path
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, v STRING, PRIMARY KEY (id))")
    spark.sql("SELECT id, concat('v', id) AS v FROM range(3)").write.parquet(f"file://{tmp_path}/rows")
    added, name = f"`parquet`.`file://{tmp_path}/rows`", table_name.partition(".")[2]
    spark.sql(f"CALL lake.system.add_files(table => '{name}', source_table => '{added}')")
    assert by_process(spark, table_name, [1]) is None
    assert sqlext.lookup(spark, table_name, [1, 5]) == [(1, "v1")]
