"""Rows and partitions that are deleted when they are old enough."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

_AT = {
    "INT": "CAST(unix_timestamp() - {age} AS INT)",
    "BIGINT": "unix_timestamp() - {age}",
    "TIMESTAMP": "current_timestamp() - make_interval(0, 0, 0, 0, 0, 0, {age})",
    "TIMESTAMP_NTZ": "CAST(current_timestamp() - make_interval(0, 0, 0, 0, 0, 0, {age}) AS TIMESTAMP_NTZ)",
    "DATE": "date_sub(current_date(), CAST({age} / 86400 AS INT))",
}
_DAY, _WEEK = 86_400, 7 * 86_400


@pytest.mark.parametrize("type", list(_AT))
@pytest.mark.parametrize("version", ["2", "3"])
def test_compact_deletes_expired_rows(spark: SparkSession, table_name: str, type: str, version: str) -> None:
    told = "'record-level.expire-time'='3 d', 'record-level.time-field'='AT OF'"
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, `at of` {type}, PRIMARY KEY (id))"
        f" TBLPROPERTIES ('format-version'='{version}', {told})"
    )
    for id, age in enumerate((_WEEK, _DAY, 0, _WEEK)):
        spark.sql(f"INSERT INTO {table_name} SELECT {id}, {_AT[type].format(age=age)}")
    spark.sql(f"INSERT INTO {table_name} VALUES (9, NULL)")
    first = spark.sql(f"SELECT snapshot_id FROM {table_name}.snapshots ORDER BY committed_at").first()
    assert first is not None
    spark.sql(f"CALL lake.system.compact('{table_name.removeprefix('lake.')}')")
    assert [row.id for row in spark.table(table_name).orderBy("id").collect()] == [1, 2, 9]
    changes = spark.sql(f"SELECT * FROM table_changes('{table_name}', {first[0]})").where("_change_type = 'DELETE'")
    assert sorted(row.id for row in changes.collect()) == [0, 3]


def test_a_table_that_looks_after_itself_deletes_them(spark: SparkSession, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, at TIMESTAMP, day STRING) PARTITIONED BY (day) TBLPROPERTIES"
        " ('write-only'='false', 'record-level.expire-time'='3 d', 'record-level.time-field'='at',"
        " 'partition.expiration-time'='30 d', 'partition.timestamp-formatter'='yyyyMMdd')"
    )
    today = "date_format(current_date(), 'yyyyMMdd')"
    spark.sql(
        f"INSERT INTO {table_name} VALUES (1, current_timestamp(), {today}), (2, TIMESTAMP'2020-01-01', {today}),"
        " (3, current_timestamp(), '20200101'), (4, current_timestamp(), 'eu')"
    )
    assert [row.id for row in spark.table(table_name).orderBy("id").collect()] == [1, 4]
    told = {row.task: row.result for row in spark.sql(f"CALL lake.system.care_status('{table_name}')").collect()}
    assert told == {"expire_rows": "1 rows", "expire_partitions": "partitions: day=20200101"}
    # Its next look is an hour later.
    spark.sql(f"INSERT INTO {table_name} VALUES (5, TIMESTAMP'2020-01-01', {today})")
    assert spark.table(table_name).count() == 3


def test_partitions_expire_by_call(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, at TIMESTAMP) PARTITIONED BY (days(at))")
    for day in ("2020-01-01", "2020-01-02", "2020-01-03"):
        spark.sql(f"INSERT INTO {table_name} VALUES (1, TIMESTAMP'{day} 10:00:00')")
    spark.sql(f"INSERT INTO {table_name} VALUES (2, current_timestamp())")
    call = f"CALL lake.system.expire_partitions(table => '{table_name}', expiration_time => '1 d'"
    gone = [row.expired_partitions for row in spark.sql(f"{call}, max_expires => 2)").collect()]
    assert gone == ["at_day=2020-01-01", "at_day=2020-01-02"]
    assert [row[0] for row in spark.sql(f"{call})").collect()] == ["at_day=2020-01-03"]
    assert spark.sql(f"{call})").collect() == []
    assert spark.table(table_name).count() == 1
    spark.sql(f"{call}, expire_strategy => 'update-time')")
    assert spark.table(table_name).count() == 1


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ("'record-level.expire-time'='3 d'", "INVALID_RETENTION"),
        ("'record-level.expire-time'='3 d', 'record-level.time-field'='gone'", "INVALID_RETENTION"),
        ("'record-level.expire-time'='soon'", "INVALID_TABLE_PROPERTY"),
        ("'partition.expiration-time'='3 d'", "INVALID_RETENTION"),
        ("'partition.timestamp-format.strict'='true'", "partition.timestamp-format.strict"),
    ],
)
def test_what_cannot_be_kept_is_refused(spark: SparkSession, table_name: str, properties: str, said: str) -> None:
    with pytest.raises(Exception, match=said):
        spark.sql(f"CREATE TABLE {table_name} (id INT, at TIMESTAMP) TBLPROPERTIES ({properties})")
    spark.sql(f"CREATE TABLE {table_name} (id INT, at TIMESTAMP)")
    with pytest.raises(Exception, match=said):
        spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ({properties})")


def test_the_time_of_rows_is_not_dropped(spark: SparkSession, table_name: str) -> None:
    told = "'record-level.expire-time'='3 d', 'record-level.time-field'='at'"
    spark.sql(f"CREATE TABLE {table_name} (id INT, at TIMESTAMP) TBLPROPERTIES ({told})")
    with pytest.raises(Exception, match="INVALID_RETENTION"):
        spark.sql(f"ALTER TABLE {table_name} DROP COLUMN at")
