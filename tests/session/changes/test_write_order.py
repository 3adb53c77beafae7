"""Writers keep the table's sort order in each file, and its distribution between files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import mmh3
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from judges.iceberg import IcebergJudge
from sessions import planned

ROWS = 4000


@pytest.fixture
def many(spark: SparkSession) -> Iterator[DataFrame]:
    """Rows in no order, in four tasks; none are few enough for the driver to write them."""
    with planned(spark, force="tasks"):
        yield _many(spark)


def _many(spark: SparkSession) -> DataFrame:
    return spark.range(0, ROWS, 1, 4).select(
        F.pmod(F.col("id") * 7919, F.lit(ROWS)).cast("int").alias("id"),
        F.element_at(F.array(F.lit("a"), F.lit("b"), F.lit(None)), (F.col("id") % 3 + 1).cast("int")).alias("kind"),
        F.expr("CAST((id % 10 - 5) / 4 AS DECIMAL(9,2))").alias("d"),
        F.expr("TIMESTAMP'2024-01-01 00:00:00Z' + make_interval(0, 0, 0, 0, CAST(id % 50 AS INT))").alias("at"),
        F.lit("x").alias("pad"),
    )


def files(spark: SparkSession, table: str) -> list[tuple[int | None, list[dict[str, Any]]]]:
    """Sort order id and rows of each data file."""
    listed = spark.sql(f"SELECT file_path, sort_order_id FROM {table}.files WHERE content = 0").collect()
    return [(row[1], pq.ParquetFile(row[0].removeprefix("file://")).read().to_pylist()) for row in listed]


def nulls_first(value: Any) -> tuple[bool, Any]:
    return (value is not None, value if value is not None else 0)


def bucket(value: Any) -> int:
    return int(mmh3.hash(value.to_bytes(8, "little", signed=True)) & 0x7FFFFFFF) % 4


def is_sorted(rows: Sequence[dict[str, Any]], key: Callable[[dict[str, Any]], Any]) -> bool:
    keys = [key(row) for row in rows]
    return keys == sorted(keys)


def create(spark: SparkSession, table: str, clauses: str) -> None:
    spark.sql(f"CREATE TABLE {table} (id INT, kind STRING, d DECIMAL(9,2), at TIMESTAMP, pad STRING) {clauses}")


def test_range_distribution_gives_each_file_its_own_range(
    spark: SparkSession, table_name: str, many: DataFrame
) -> None:
    create(spark, table_name, "CLUSTER BY (id DESC)")
    many.writeTo(table_name).append()
    written = files(spark, table_name)
    assert {order for order, _ in written} == {1}
    assert sum(len(rows) for _, rows in written) == ROWS
    ranges = sorted((min(row["id"] for row in rows), max(row["id"] for row in rows)) for _, rows in written)
    assert all(one[1] < other[0] for one, other in pairwise(ranges))
    assert all(is_sorted(rows, lambda row: -row["id"]) for _, rows in written)


def test_terms_are_sorted_by_their_transforms(spark: SparkSession, table_name: str, many: DataFrame) -> None:
    create(spark, table_name, "PARTITIONED BY (kind)")
    terms = "bucket(4, id) DESC, truncate(50, d) DESC NULLS FIRST, days(at), id"
    spark.sql(f"ALTER TABLE {table_name} WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY {terms}")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    try:
        many.writeTo(table_name).append()
        spark.sql(f"UPDATE {table_name} SET pad = 'u' WHERE id % 2 = 0")
        spark.sql(f"MERGE INTO {table_name} t USING (SELECT explode(sequence(0, 30)) AS id) s ON t.id = s.id"
                  " WHEN MATCHED THEN UPDATE SET pad = 'm'")  # fmt: skip
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    written = files(spark, table_name)
    assert len(written) >= 9

    def key(row: dict[str, Any]) -> Any:
        cut = int(row["d"] * 100) // 50
        return -bucket(row["id"]), -cut, row["at"].date(), row["id"]

    for order, rows in written:
        assert order == 1
        assert len({row["kind"] for row in rows}) == 1
        assert is_sorted(rows, key)


def test_an_upsert_keeps_the_order_too(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED) ORDERED BY (v NULLS LAST)")
    source = "SELECT id, IF(id = 3, NULL, -id) AS v FROM (SELECT explode(sequence(1, 9)) AS id)"
    upsert = f"MERGE INTO {table_name} t USING ({source}) s ON t.id = s.id"
    for mode in ("resolved", "equality"):
        spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('write.upsert.mode'='{mode}')")
        spark.sql(f"{upsert} WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    for order, rows in files(spark, table_name):
        assert order == 1
        assert [row["id"] for row in rows] == [9, 8, 7, 6, 5, 4, 2, 1, 3]


def test_an_order_that_iceberg_set_is_kept(spark: SparkSession, iceberg: IcebergJudge, table_name: str) -> None:
    create(spark, table_name, "")
    iceberg.sql(f"ALTER TABLE {table_name} WRITE ORDERED BY kind, bucket(4, d)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'b', 1, NULL, ''), (2, 'a', 2, NULL, ''), (3, 'a', 1, NULL, '')")
    ((order, rows),) = files(spark, table_name)
    assert order == 1
    assert is_sorted(rows, lambda row: (row["kind"], bucket_of_decimal(row["d"])))


def bucket_of_decimal(value: Any) -> int:
    unscaled = int(value * 100)
    return int(mmh3.hash(unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)) & 0x7FFFFFFF) % 4
