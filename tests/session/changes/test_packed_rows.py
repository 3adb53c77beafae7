"""Rows on their way to write tasks: packed as columns or as rows, they are those of the query."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sqlext.spark.query.packed_rows import PackedColumns, packed
from turns import EVERY

ROWS = 10_000
COLUMNS = """id BIGINT NOT NULL, flag BOOLEAN, tiny TINYINT, small SMALLINT, whole INT, large BIGINT, single FLOAT,
 twice DOUBLE, price DECIMAL(7,2), cents DECIMAL(18,4), exact DECIMAL(38,10), text STRING, bytes BINARY,
 day DATE, at TIMESTAMP, local TIMESTAMP_NTZ,
 tags ARRAY<STRING>, point STRUCT<x: INT, y: STRUCT<z: DECIMAL(5,1)>>, counts MAP<STRING, BIGINT>,
 nothing STRING"""


def _value(rng: random.Random, number: int) -> tuple[Any, ...]:
    """A row of COLUMNS: some columns have few values, as a dictionary has them, and each may be null."""

    def some(value: Any) -> Any:
        return None if rng.random() < 0.2 else value

    text = "".join(rng.choices("aé😀\0 ", k=rng.randrange(12)))
    return (
        number,
        some(rng.random() < 0.5),
        some(rng.randrange(-128, 128)),
        some(rng.randrange(-(2**15), 2**15)),
        some(rng.choice([-(2**31), 0, 7, 2**31 - 1])),
        some(rng.randrange(-(2**63), 2**63)),
        some(rng.choice([0.0, -0.0, 1.5, float("inf"), float("nan")])),
        some(rng.choice([rng.random(), float("nan"), -0.0])),
        some(Decimal(rng.randrange(-(10**7) + 1, 10**7)).scaleb(-2)),
        some(Decimal(rng.randrange(-(10**18) + 1, 10**18)).scaleb(-4)),
        some(Decimal(rng.randrange(-(10**37), 10**37)).scaleb(-10)),
        some(rng.choice([text, "often", ""])),
        some(rng.randbytes(rng.randrange(20))),
        some(date(1970, 1, 1) + timedelta(rng.randrange(-100_000, 100_000))),
        some(datetime(2000, 1, 1, tzinfo=UTC) + timedelta(microseconds=rng.randrange(10**15))),
        some(datetime(2000, 1, 1) + timedelta(microseconds=rng.randrange(10**15))),
        some([some(text) for _ in range(rng.randrange(3))]),
        some((some(rng.randrange(9)), some((some(Decimal(rng.randrange(99)).scaleb(-1)),)))),
        some({f"k{at}": some(at) for at in range(rng.randrange(3))}),
        None,
    )


@pytest.fixture(scope="module")
def rows(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """The rows in two Parquet files of Spark, with dictionaries."""
    rng, folder = random.Random(20261128), tmp_path_factory.mktemp("packed") / "rows"
    made = spark.createDataFrame([_value(rng, number) for number in range(ROWS)], COLUMNS)
    made.coalesce(2).write.parquet(str(folder))
    return spark.read.parquet(str(folder))


def _as_packed(rows: DataFrame) -> pa.Table:
    columns = PackedColumns.of(rows.schema, {})
    return pa.Table.from_batches(list(columns.unpacked(iter(packed(rows).toArrow().to_batches()))), columns.buffers)


def _way(rows: DataFrame) -> str:
    plan: str = packed(rows)._jdf.queryExecution().executedPlan().toString()
    found = re.search(r"Pack (Columns|Rows by Task|Rows)", plan)
    return plan if found is None else found[1].lower()


def _with_partitions(rows: DataFrame) -> pa.Table:
    """With a column of the partitions that the packed values are in."""
    columns, tables = PackedColumns.of(rows.schema, {}), []
    for value in packed(rows).withColumn("partition", F.spark_partition_id()).toArrow().to_pylist():
        one = pa.RecordBatch.from_pydict({"packed": pa.array([value["packed"]], pa.binary())})
        found = pa.Table.from_batches(list(columns.unpacked(iter([one]))), columns.buffers)
        tables.append(found.append_column("partition", pa.array([value["partition"]] * len(found), pa.int32())))
    return pa.concat_tables([columns.buffers.append(pa.field("partition", pa.int32())).empty_table(), *tables])


def _assert_equal(rows: DataFrame) -> None:
    _assert_same(_as_packed(rows), rows.toArrow())


def _assert_same(found: pa.Table, expected: pa.Table) -> None:
    """By the texts of all values, as nan is not equal to itself. Packed decimals have their unscaled value."""
    found.validate(full=True)
    assert found.column_names == expected.column_names
    for number, name in enumerate(expected.column_names):
        values, type = expected.column(number).to_pylist(), expected.schema.field(number).type
        if pa.types.is_decimal(type) and found.schema.field(number).type == pa.int64():
            values = [None if value is None else int(value.scaleb(type.scale)) for value in values]
        assert list(map(repr, found.column(number).to_pylist())) == list(map(repr, values)), name


def _all(rows: DataFrame) -> DataFrame:
    return rows


def _some_in_another_order(rows: DataFrame) -> DataFrame:
    return rows.select(F.col("text").alias("b"), F.col("cents").alias("a"), "id", "exact", F.col("text").alias("c.d"))


def _computed(rows: DataFrame) -> DataFrame:
    return rows.withColumn("whole", F.col("tiny") + 1)


def _filtered(rows: DataFrame) -> DataFrame:
    return rows.where("id % 3 = 1")


def _none(rows: DataFrame) -> DataFrame:
    return rows.where("id < 0")


def _computed_and_filtered(rows: DataFrame) -> DataFrame:
    return rows.withColumn("whole", F.col("tiny") + 1).where("id % 3 = 1")


def _nothing_as_it_is(rows: DataFrame) -> DataFrame:
    return rows.select((F.col("tiny") + 1).alias("a"), F.lit("b").alias("b"))


def _computed_lists(rows: DataFrame) -> DataFrame:
    return rows.withColumn("tags", F.array("text"))


def _random(rows: DataFrame) -> DataFrame:
    return rows.where("id < 100").withColumn("r", F.monotonically_increasing_id())


def _sorted(rows: DataFrame) -> DataFrame:
    return rows.repartition(1).sortWithinPartitions("id")


@pytest.mark.turns(EVERY)
@pytest.mark.parametrize(
    ("query", "way"),
    [
        (_all, "columns"),
        (_some_in_another_order, "columns"),
        (_computed, "columns"),
        (_filtered, "rows"),
        (_computed_and_filtered, "rows"),
        (_none, "rows"),
        (_nothing_as_it_is, "rows"),
        (_computed_lists, "rows"),
        (_random, "rows"),
        (_sorted, "rows"),
    ],
)
def test_packed_rows_are_those_of_the_query(rows: DataFrame, query: Callable[[DataFrame], DataFrame], way: str) -> None:
    found = query(rows)
    assert _way(found) == way
    _assert_equal(found)


SIMPLE = ["id", "tiny", "small", "whole", "large", "single", "twice", "price", "cents", "text", "bytes", "day", "at"]
SIMPLE += ["local", "nothing AS `a.b`", "text AS t"]


@pytest.mark.turns(EVERY)
@pytest.mark.parametrize("query", [_all, _computed_and_filtered, _none], ids=["columns", "rows", "none"])
@pytest.mark.parametrize(
    ("tasks", "by"),
    [(7, ["text"]), (None, ["day"]), (3, ["trunc(day, 'YEAR')", "tiny"]), (250, ["id"]), (2, ["NULL"])],
    ids=["7", "the session's", "3", "few rows each", "one of two"],
)
def test_rows_for_tasks_are_packed_before_the_shuffle(
    rows: DataFrame, query: Callable[[DataFrame], DataFrame], tasks: int | None, by: list[str]
) -> None:
    """Each is in the partition that Spark gives it to."""
    terms = [F.expr(text) for text in by]
    spread = query(rows.selectExpr(*SIMPLE))
    spread = spread.repartition(*terms) if tasks is None else spread.repartition(tasks, *terms)
    assert _way(spread) == "rows by task"
    found, expected = _with_partitions(spread), spread.withColumn("partition", F.spark_partition_id()).toArrow()
    if tasks is None:
        # Spark joins small partitions, by their bytes.
        found, expected = found.drop_columns("partition"), expected.drop_columns("partition")
    _assert_same(found.sort_by("id"), expected.sort_by("id"))


@pytest.mark.turns(EVERY)
@pytest.mark.parametrize(
    "spread",
    [
        lambda rows: rows.repartition(4, "tiny"),
        lambda rows: rows.select("id", "tiny").repartitionByRange(4, "tiny"),
        lambda rows: rows.select("id", "tiny").repartition(4),
        lambda rows: rows.select("id", "tiny").repartition(1, "tiny"),
        lambda rows: rows.select("id", *(F.col("id").alias(f"id{n}") for n in range(60))).repartition(200, "id"),
        lambda rows: rows.select("id", "tiny").repartition(4, "tiny").sortWithinPartitions("id"),
    ],
    ids=["nested values", "by range", "by turns", "to one task", "wide, to many tasks", "sorted"],
)
def test_other_rows_are_packed_after_the_shuffle(rows: DataFrame, spread: Callable[[DataFrame], DataFrame]) -> None:
    found = spread(rows)
    assert _way(found) == "rows"
    _assert_same(_as_packed(found).sort_by("id"), found.toArrow().sort_by("id"))


def test_long_texts_for_tasks(spark: SparkSession, tmp_path: Path) -> None:
    """A batch of them is more than is packed together, and so are those of a task."""
    long = spark.range(0, 700, 1, 1).selectExpr("id", "repeat(cast(id % 2 AS string), 300000) AS text")
    long.write.parquet(str(tmp_path / "long"))
    spread = spark.read.parquet(str(tmp_path / "long")).repartition(2, F.col("id") % 2)
    assert _way(spread) == "rows by task"
    found = _as_packed(spread)
    assert 3 < len(found.column("text").chunks) < 20
    _assert_same(found.sort_by("id"), long.toArrow())


@pytest.mark.parametrize("computed", ["id + 1 AS next", "upper(text) AS more"])
def test_long_texts_beside_computed_columns(spark: SparkSession, tmp_path: Path, computed: str) -> None:
    """Such a batch goes through rows."""
    long = spark.range(0, 100, 1, 1).selectExpr("id", "repeat(cast(id % 2 AS string), 300000) AS text")
    long.write.parquet(str(tmp_path / "long"))
    read = spark.read.parquet(str(tmp_path / "long")).selectExpr("*", computed)
    assert _way(read) == "columns"
    _assert_equal(read)


def test_columns_that_no_file_has_and_values_of_folders(spark: SparkSession, rows: DataFrame, tmp_path: Path) -> None:
    for part in (1, 2):
        rows.where(f"id % 2 = {part - 1}").coalesce(1).write.parquet(str(tmp_path / f"part={part}"))
    read = spark.read.schema(f"{COLUMNS}, later INT, price2 DECIMAL(20,2), part INT").parquet(str(tmp_path))
    assert _way(read) == "columns"
    _assert_equal(read)


def test_live_rows_of_a_table_with_deletes(spark: SparkSession, rows: DataFrame, table_name: str) -> None:
    columns = COLUMNS.replace("tiny TINYINT, small SMALLINT", "tiny INT, small INT")
    spark.sql(f"CREATE TABLE {table_name} ({columns}) TBLPROPERTIES ('write.delete.mode'='merge-on-read')")
    rows.writeTo(table_name).append()
    spark.sql(f"DELETE FROM {table_name} WHERE id % 7 = 3 OR id BETWEEN 4000 AND 6000")
    live = spark.table(table_name)
    assert _way(live) == "columns"
    _assert_equal(live)
    spark.sql(f"DROP TABLE IF EXISTS {table_name}_copy")
    spark.sql(f"CREATE TABLE {table_name}_copy AS SELECT * FROM {table_name}")
    columns = "id, price, cents, text, at"
    assert spark.sql(f"SELECT {columns} FROM {table_name}_copy EXCEPT ALL SELECT {columns} FROM {table_name}").isEmpty()
    assert spark.table(f"{table_name}_copy").count() == live.count()


def test_memory_outside_of_the_heap_is_given_back(spark: SparkSession, rows: DataFrame) -> None:
    jvm = spark._jvm
    assert jvm is not None
    allocator = jvm.org.apache.spark.sql.util.ArrowUtils.rootAllocator()
    before = allocator.getAllocatedMemory()
    for query in (_all, _filtered):
        _as_packed(query(rows.select("id", "tags", "point", "exact")))
    assert allocator.getAllocatedMemory() == before


def test_a_dictionary_of_long_texts_is_packed_a_few_rows_at_a_time(spark: SparkSession, tmp_path: Path) -> None:
    long = spark.range(0, 500, 1, 1).selectExpr("id", "repeat(cast(id % 2 AS string), 200000) AS text")
    long.write.parquet(str(tmp_path / "long"))
    read = spark.read.parquet(str(tmp_path / "long"))
    assert _way(read) == "columns"
    found = _as_packed(read)
    assert len(found.column("text").chunks) > 5
    assert [text.as_py() == str(id % 2) * 200_000 for id, text in enumerate(found.column("text"))] == [True] * 500
    assert found.column("id").to_pylist() == list(range(500))


def test_rows_of_many_megabytes_are_packed_a_few_at_a_time(spark: SparkSession) -> None:
    wide = spark.range(0, 12, 1, 1).selectExpr("id", "repeat(cast(id AS string), 6000000) AS text")
    found = _as_packed(wide)
    assert [len(text.as_py()) for text in found.column("text")] == [6_000_000] * 10 + [12_000_000] * 2
    assert len(found.column("text").chunks) > 1
