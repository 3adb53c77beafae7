"""An enforced key where SQL alone does not lead: DataFrames, large writes, and writers at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sessions import planned


def condition_of(spark: SparkSession, statement: str) -> str | None:
    """The error condition of a statement, None if there was none."""
    try:
        spark.sql(statement).collect()
    except PySparkException as failure:
        return failure.getCondition()
    return None


def test_a_table_made_by_the_data_frame_builder(spark: SparkSession, table_name: str) -> None:
    rows = spark.createDataFrame([(1, "a"), (2, "b")], "id int, v string")
    enforced = {"primary-key": "id", "write.key.enforced": "true", "sqlext.check.short": "length(v) < 3"}
    writer = rows.writeTo(table_name).using("iceberg")
    for name, text in enforced.items():
        writer = writer.tableProperty(name, text)
    writer.create()
    assert "PRIMARY KEY (`id`) ENFORCED" in spark.sql(f"SHOW CREATE TABLE {table_name}").first()[0]
    with pytest.raises(PySparkException) as refusal:
        rows.writeTo(table_name).append()
    assert refusal.value.getCondition() == "KEY_ALREADY_EXISTS"
    with pytest.raises(PySparkException) as refusal:
        spark.createDataFrame([(3, "long")], "id int, v string").writeTo(table_name).append()
    assert refusal.value.getCondition() == "CHECK_CONSTRAINT_VIOLATION"
    assert spark.table(table_name).count() == 2


@pytest.fixture
def joined_keys(spark: SparkSession) -> Iterator[None]:
    with planned(spark, checked_key_rows=0):
        yield


@pytest.mark.usefixtures("joined_keys")
def test_keys_that_spark_joins(spark: SparkSession, table_name: str) -> None:
    key = "PRIMARY KEY (u, `d d`) ENFORCED"
    spark.sql(f"CREATE TABLE {table_name} (u BIGINT, `d d` DATE, n INT, {key}) PARTITIONED BY (months(`d d`))")
    rows = "SELECT id, DATE'2024-01-01' + CAST(id % 90 AS INT), 1 FROM range(1000)"
    assert condition_of(spark, f"INSERT INTO {table_name} {rows}") is None
    assert condition_of(spark, f"INSERT INTO {table_name} {rows} WHERE id > 997") == "KEY_ALREADY_EXISTS"
    assert condition_of(spark, f"INSERT INTO {table_name} VALUES (1, DATE'2024-03-03', 1)") is None
    twice = "VALUES (-1, DATE'2024-03-03', 1), (-1, DATE'2024-03-03', 1)"
    assert condition_of(spark, f"INSERT INTO {table_name} {twice}") == "DUPLICATE_KEY"
    assert condition_of(spark, f"UPDATE {table_name} SET u = u + 1") is None
    assert condition_of(spark, f"UPDATE {table_name} SET u = 5, `d d` = DATE'2024-01-01'") == "DUPLICATE_KEY"
    assert spark.table(table_name).count() == 1001


def test_one_of_several_writers_of_a_key_wins(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id) ENFORCED)")
    statements = [f"INSERT INTO {table_name} VALUES (1, '{n}'), ({n + 10}, '{n}')" for n in range(4)]
    with ThreadPoolExecutor(4) as pool:
        conditions = list(pool.map(lambda statement: condition_of(spark, statement), statements))
    assert conditions.count(None) == 1
    assert set(conditions) <= {None, "KEY_ALREADY_EXISTS", "WRITE_CONFLICT"}
    assert spark.sql(f"SELECT count(*) AS n, count_if(id = 1) AS ones FROM {table_name}").first().asDict() == {
        "n": 2,
        "ones": 1,
    }
