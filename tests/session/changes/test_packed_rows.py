"""Rows on their way to write tasks: packed as columns or as rows, they are those of the query."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sqlext.spark.query.packed_rows import packed, packed_schema, unpacked
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
    return pa.Table.from_batches(
        list(unpacked(iter(packed(rows).toArrow().to_batches()), packed_schema(rows.schema))),
        packed_schema(rows.schema),
    )


def _way(rows: DataFrame) -> str:
    plan: str = packed(rows)._jdf.queryExecution().executedPlan().toString()
    return "columns" if "Pack Columns" in plan else "rows" if "Pack Rows" in plan else plan


def _assert_equal(rows: DataFrame) -> None:
    """By the texts of all values, as nan is not equal to itself."""
    found = _as_packed(rows)
    found.validate(full=True)
    expected = rows.toArrow()
    unscaled = [
        field.name for field in packed_schema(rows.schema) if field.type != expected.schema.field(field.name).type
    ]
    for name in expected.column_names:
        values = expected.column(name).to_pylist()
        if name in unscaled and pa.types.is_decimal(expected.schema.field(name).type):
            scale = expected.schema.field(name).type.scale
            values = [None if value is None else int(value.scaleb(scale)) for value in values]
        assert list(map(repr, found.column(name).to_pylist())) == list(map(repr, values)), name


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


def _sorted(rows: DataFrame) -> DataFrame:
    return rows.repartition(1).sortWithinPartitions("id")


@pytest.mark.turns(EVERY)
@pytest.mark.parametrize(
    ("query", "way"),
    [
        (_all, "columns"),
        (_some_in_another_order, "columns"),
        (_computed, "rows"),
        (_filtered, "rows"),
        (_none, "rows"),
        (_sorted, "rows"),
    ],
)
def test_packed_rows_are_those_of_the_query(rows: DataFrame, query: Callable[[DataFrame], DataFrame], way: str) -> None:
    found = query(rows)
    assert _way(found) == way
    _assert_equal(found)


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
