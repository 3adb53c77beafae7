"""A scan makes no reader that another has made, and one whose settings differ makes its own."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


def broadcasts(spark: SparkSession) -> int:
    """A number that is larger by one than before for each value that was sent to executors meanwhile, and this one."""
    value = spark.sparkContext._jsc.broadcast("")
    return int(value.id())


@pytest.mark.parametrize("condition", ["", " WHERE id > 3"])
def test_a_scan_made_again_sends_no_settings(spark: SparkSession, table_name: str, condition: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT, n BIGINT) TBLPROPERTIES ('format-version'='3')")
    spark.sql(f"INSERT INTO {table_name} SELECT id, id FROM range(1000)")
    spark.sql(f"DELETE FROM {table_name} WHERE id % 5 = 0")
    query = f"SELECT id, n FROM {table_name}{condition}"
    rows = spark.sql(query).collect()
    before = broadcasts(spark)
    assert spark.sql(query).collect() == rows
    # of the one stage that runs, and of asking
    assert broadcasts(spark) - before == 2


def test_a_setting_of_the_session_is_followed(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} AS SELECT id FROM range(10)")
    query = f"SELECT sum(id) AS s FROM {table_name}"
    assert spark.sql(query).collect()[0].s == 45
    setting = "parquet.crypto.factory.class"
    spark.conf.set(setting, "no.such.Class")
    try:
        with pytest.raises(PySparkException):
            spark.sql(query).collect()
    finally:
        spark.conf.unset(setting)
    assert spark.sql(query).collect()[0].s == 45


def test_a_setting_of_hadoop_is_followed(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} AS SELECT id FROM range(10)")
    query = f"SELECT sum(id) AS s FROM {table_name}"
    assert spark.sql(query).collect()[0].s == 45
    hadoop, setting = spark.sparkContext._jsc.hadoopConfiguration(), "parquet.crypto.factory.class"
    hadoop.set(setting, "no.such.Class")
    try:
        with pytest.raises(PySparkException):
            spark.sql(query).collect()
    finally:
        hadoop.unset(setting)
    assert spark.sql(query).collect()[0].s == 45
