"""`sqlext.procedures` in a session: names with dots and quotes, times, lists and maps reach the procedure as given."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sqlext import procedures
from sqlext.errors import NotFoundError

TABLE = "lake.db.`it's a.b``c`"


def snapshots(spark: SparkSession) -> list[int]:
    return [row.snapshot_id for row in procedures.ancestors_of(spark, TABLE).collect()]


def test_values_of_each_type(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql(f"CREATE TABLE {TABLE} (id INT, day DATE, PRIMARY KEY (id)) PARTITIONED BY (day)")
    for number in range(4):
        spark.sql(f"INSERT INTO {TABLE} VALUES ({number}, date'2020-01-0{number + 1}')")
    fourth, third, second, first = snapshots(spark)

    procedures.rollback_to_snapshot(spark, TABLE, third)
    assert snapshots(spark) == [third, second, first]
    procedures.set_current_snapshot(spark, TABLE, snapshot_id=fourth)
    assert procedures.expire_snapshots(spark, TABLE, snapshot_ids=[first, second]).count() == 1
    assert snapshots(spark) == [fourth, third]

    before = datetime.now(timezone.utc) - timedelta(days=1)
    for time in (before, before.astimezone().replace(tzinfo=None)):
        with pytest.raises(PySparkException) as caught:
            procedures.rollback_to_timestamp(spark, TABLE, time)
        assert caught.value.getCondition() == "SNAPSHOT_NOT_FOUND"

    options = {"rewrite-all": "true"}
    done = procedures.rewrite_data_files(spark, TABLE, options=options, where="id < 3").collect()
    assert done[0].rewritten_data_files_count > 0
    with pytest.raises(PySparkException, match=r"no'\\option"):
        procedures.rewrite_data_files(spark, TABLE, options={r"no'\option": "1"})

    view = procedures.create_changelog_view(spark, TABLE, "`it's`", {"start-snapshot-id": str(third)}).collect()
    assert view[0].changelog_view == "`it's`"
    assert spark.table("`it's`").count() == 1

    expired = procedures.expire_partitions(spark, TABLE, timedelta(days=7), max_expires=1).collect()
    assert [row.expired_partitions for row in expired] == ["day=2020-01-01"]
    assert procedures.fsck(spark, TABLE, check="files").collect() == []
    assert procedures.fsck(spark, TABLE, repair=True).collect() == []


def test_the_catalog_of_a_name(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    catalog, namespace, table = table_name.split(".")
    assert procedures.health(spark, table_name).count() > 0
    assert procedures.health(spark, f"{namespace}.{table}", catalog=catalog).count() > 0
    with pytest.raises(NotFoundError, match="CATALOG_NOT_FOUND"):
        procedures.health(spark, f"{namespace}.{table}")
    spark.sql(f"USE {catalog}")
    try:
        assert procedures.health(spark, f"{namespace}.{table}").count() > 0
    finally:
        spark.sql("USE spark_catalog")
