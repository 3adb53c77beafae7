"""Upserts into tables without a key, by the columns that the option `equality-field-columns` names, as Flink's sink."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import StreamingQueryException
from pyspark.sql import SparkSession

import sqlext
from golden_tables.relocation import unpack
from judges.iceberg import IcebergJudge
from streaming.json_stream import JsonStream

_FLINK = Path(__file__).parents[2] / "golden_tables" / "golden_flink_dev.zip"
_BY = {"upsert-enabled": "true", "equality-field-columns": "region, `a.b`"}
_HINT = "/*+ OPTIONS('upsert-enabled'='true', 'equality-field-columns'='region,`a.b`') */"

Row = tuple[str, int | None, int]


def _write(spark: SparkSession, table: str, rows: Sequence[tuple[str, int | None, int, str]], way: str) -> None:
    """Upserts rows with their kinds; a statement and the API go by different ways to the writer."""
    frame = spark.createDataFrame(rows, "region STRING, `a.b` INT, v INT, _row_kind STRING")
    plain = all(kind == "+U" for *_, kind in rows)
    if plain:
        frame = frame.drop("_row_kind")
    if way == "frame":
        frame.writeTo(table).options(**_BY).append()
    elif way == "literals" and plain:
        values = ", ".join(f"('{region}', {at}, {v})" for region, at, v, _ in rows)
        spark.sql(f"INSERT INTO {table} {_HINT} VALUES {values}")
    else:
        frame.createOrReplaceTempView("given")
        spark.sql(f"INSERT INTO {table} {_HINT} SELECT * FROM given")


@pytest.mark.turns(1)
@pytest.mark.parametrize("partitions", ["", "PARTITIONED BY (region)", "PARTITIONED BY (truncate(1, region), v)"])
@pytest.mark.parametrize(("version", "mode"), [(2, "equality"), (3, "equality"), (3, "resolved"), (1, "resolved")])
def test_rows_replace_those_of_equal_columns(
    spark: SparkSession, iceberg: IcebergJudge, table_name: str, version: int, mode: str, partitions: str
) -> None:
    if mode == "equality" and "v)" in partitions:
        partitions = "PARTITIONED BY (bucket(2, `a.b`))"
    spark.sql(
        f"CREATE TABLE {table_name} (region STRING, `a.b` INT, v INT) {partitions}"
        f" TBLPROPERTIES ('format-version'='{version}', 'write.upsert.mode'='{mode}')"
    )
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    rng, model = random.Random(seed), list[Row]()
    for number in range(6):
        rows: list[Row] = [(region, n, number) for region in "xy" for n in rng.sample([None, 0, 1, 2], 2)]
        if number % 3 == 0:
            spark.createDataFrame(rows, "region STRING, `a.b` INT, v INT").writeTo(table_name).append()
            model += rows
            continue
        rows = [row for row in rows if row[1] is not None]
        gone = [row for row in rows if number > 2 and rng.random() < 0.3]
        way = {1: "literals", 2: "frame", 4: "query", 5: "frame"}[number]
        _write(spark, table_name, [(*row, "-D" if row in gone else "+U") for row in rows], way)
        model = [row for row in model if row[:2] not in [one[:2] for one in rows]]
        model += [row for row in rows if row not in gone]
        stored = [tuple(row) for row in spark.table(table_name).collect()]
        assert sorted(stored, key=str) == sorted(model, key=str), rows
    assert sorted(map(tuple, iceberg.sql(f"SELECT * FROM {table_name}")), key=str) == sorted(model, key=str)
    assert "PRIMARY KEY" not in spark.sql(f"SHOW CREATE TABLE {table_name}").collect()[0][0]


@pytest.mark.parametrize("mode", ["equality", "resolved"])
def test_tables_of_flink_take_them(spark: SparkSession, iceberg: IcebergJudge, warehouse: Path, mode: str) -> None:
    folder = unpack(_FLINK, warehouse / f"flink_{mode}")
    name = f"lake.{folder.name}.f01_append"
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.upsert.mode'='{mode}')")
    before = {row.id: row.s for row in spark.table(name).collect()}
    first = min(before)
    options = "/*+ OPTIONS('upsert-enabled'='true', 'equality-field-columns'='id') */"
    stored = spark.table(name).where(f"id = {first}")
    rows = spark.createDataFrame([row.asDict() | {"s": "new"} for row in stored.collect()], stored.schema)
    rows.writeTo(name).options(**{"upsert-enabled": "true", "equality-field-columns": "id"}).append()
    expected = {**before, first: "new"}
    assert {row.id: row.s for row in spark.table(name).collect()} == expected
    assert dict(iceberg.sql(f"SELECT id, s FROM {name}")) == expected
    # A table whose key is gone has Flink's equality deletes, and takes new ones of the same columns.
    name = f"lake.{folder.name}.f02_upsert"
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('write.upsert.mode'='{mode}', 'write.upsert.enabled'='false')")
    spark.sql(f"ALTER TABLE {name} DROP IDENTIFIER FIELDS id")
    kept = {row.id: row.v for row in spark.table(name).collect()}
    spark.sql(f"INSERT INTO {name} {options} VALUES ({min(kept)}, 'new', 1), (1000, 'more', 2)")
    expected = {**kept, min(kept): "new", 1000: "more"}
    assert {row.id: row.v for row in spark.table(name).collect()} == expected
    assert dict(iceberg.sql(f"SELECT id, v FROM {name}")) == expected


def test_a_stream_goes_by_the_columns(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a INT, b INT, v STRING)")
    stream = JsonStream(spark, tmp_path, "a INT, b INT, v STRING")
    stream.put({"a": 1, "b": 1, "v": "x"}, {"a": 1, "b": 2, "v": "y"})
    stream.put({"a": 1, "b": 1, "v": "z"})
    stream.run(table_name, "update", equality_field_columns="b,a")
    stream.put({"a": 1, "b": 2, "v": "w"})
    stream.forget_commit_of(1)
    write = sqlext.write_stream(stream.frame()).upsert().equality_field_columns("A", "B")
    write.checkpoint(str(stream.checkpoint)).trigger(availableNow=True).to_table(table_name).awaitTermination()
    assert sorted(map(tuple, spark.table(table_name).collect())) == [(1, 1, "z"), (1, 2, "w")]
    stream.put({"a": 2, "b": 2, "v": "v"})
    with pytest.raises(StreamingQueryException, match=r"INVALID_EQUALITY_COLUMNS.*is no upsert"):
        stream.run(table_name, equality_field_columns="b,a")


def test_columns_that_the_rows_add_come_with_them(spark: SparkSession, iceberg: IcebergJudge, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a INT, v STRING)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'x'), (1, 'y'), (2, 'z')")
    rows = spark.createDataFrame([(1, "new", 7)], "a INT, v STRING, n INT")
    options = {"upsert-enabled": "true", "equality-field-columns": "a", "mergeSchema": "true"}
    rows.writeTo(table_name).options(**options).append()
    assert sorted(iceberg.sql(f"SELECT a, v, n FROM {table_name}")) == [[1, "new", 7], [2, "z", None]]
    assert spark.sql(f"SHOW CREATE TABLE {table_name}").collect()[0][0].count("KEY") == 0


def test_a_branch_takes_them(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (a INT, v STRING)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'x')")
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH audit")
    spark.sql(
        f"UPSERT INTO {table_name} /*+ OPTIONS('branch'='audit', 'equality-field-columns'='a') */ VALUES (1, 'y')"
    )
    assert [row.v for row in spark.table(table_name).collect()] == ["x"]
    assert [row.v for row in spark.table(f"{table_name}.branch_audit").collect()] == ["y"]


@pytest.mark.parametrize(
    ("columns", "statement", "said"),
    [
        ("", "INSERT INTO t /*+ OPTIONS('upsert-enabled'='true') */ VALUES (1, 'a')", "UPSERT_WITHOUT_KEY"),
        ("", "INSERT INTO t /*+ OPTIONS('equality-field-columns'='id') */ VALUES (1, 'a')", "is no upsert"),
        ("", "INSERT OVERWRITE t /*+ OPTIONS('equality-field-columns'='id') */ VALUES (1, 'a')", "is no upsert"),
        ("", "UPSERT INTO t /*+ OPTIONS('equality-field-columns'='w') */ VALUES (1, 'a')", "there is no column w"),
        ("", "UPSERT INTO t /*+ OPTIONS('equality-field-columns'='id,') */ VALUES (1, 'a')", "INVALID_WRITE_OPTION"),
        ("", "UPSERT INTO t /*+ OPTIONS('equality-field-columns'='id') */ VALUES (NULL, 'a')", "NULL_IN_REQUIRED"),
        ("", "UPSERT INTO t /*+ OPTIONS('equality-field-columns'='id') */ VALUES (1, 'a'), (1, 'b')", "DUPLICATE_KEY"),
        (
            ", PRIMARY KEY (id)",
            "UPSERT INTO t /*+ OPTIONS('equality-field-columns'='v') */ VALUES (1, 'a')",
            "the key of",
        ),
        (
            ", PRIMARY KEY (id)",
            "INSERT INTO t /*+ OPTIONS('equality-field-columns'='id') */ VALUES (1, 'a') ON CONFLICT DO NOTHING",
            "UPSERT_CONTRADICTED",
        ),
    ],
)
def test_refused(spark: SparkSession, table_name: str, columns: str, statement: str, said: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING{columns})")
    with pytest.raises(PySparkException, match=said):
        spark.sql(statement.replace(" t ", f" {table_name} ", 1))
    assert spark.table(table_name).count() == 0
