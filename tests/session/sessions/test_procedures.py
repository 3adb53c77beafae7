"""`sqlext.procedures` in a session: names with dots and quotes, times, lists and maps reach the procedure as given."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sqlext import procedures
from sqlext.errors import NotFoundError
from sqlext.procedure.procedure import Parameter, Procedure
from sqlext.procedure.registry import PROCEDURES

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


# Values that are none of a parameter's type, by that type.
WRONG = {
    "timestamp": ("1700000000000", "1.5D", "true", "'no time'"),
    "boolean": ("1", "0.0D", "'perhaps'"),
    "int": ("true", "'one'"),
    "integer": ("true", "'one'"),
    "bigint": ("false", "'one'"),
    "array<bigint>": ("array(1, NULL)", "array('one')"),
    "array<string>": ("array('id', NULL)",),
    "map<string, string>": ("map('rewrite-all', NULL)", "map('start-snapshot-id', CAST(NULL AS STRING))"),
    "string": (),
}
CAST_ERRORS = ("CAST_INVALID_INPUT", "DATATYPE_MISMATCH.CAST_WITH_CONF_SUGGESTION")


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_no_argument_is_taken_for_another_value(spark: SparkSession, table_name: str, ansi: str) -> None:
    """Of every parameter of every procedure: milliseconds are no time in seconds, and a slip does not mean the default,
    which it would be where casts give null."""
    spark.sql(f"CREATE TABLE {table_name} (id INT) TBLPROPERTIES ('format-version'='2')")
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        for procedure in PROCEDURES.values():
            for parameter in procedure.parameters:
                for value in WRONG[parameter.type]:
                    call = f"CALL lake.system.{procedure.name}({_arguments(procedure, parameter, value)})"
                    with pytest.raises(PySparkException) as caught:
                        spark.sql(call)
                    condition = caught.value.getCondition()
                    assert condition == "PROCEDURE_ARGUMENT" or (condition in CAST_ERRORS and ansi == "true"), call
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_a_time_that_python_does_not_have(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT) TBLPROPERTIES ('format-version'='2')")
    for number in range(3):
        spark.sql(f"INSERT INTO {table_name} VALUES ({number})")
    late = "timestamp '+20000-01-01 00:00:00'"
    assert spark.sql(f"SELECT * FROM {table_name} TIMESTAMP AS OF {late}").count() == 3
    spark.sql(f"CALL lake.system.expire_snapshots('{table_name}', {late})")
    assert spark.table(f"{table_name}.snapshots").count() == 1
    with pytest.raises(PySparkException, match="ORPHANS_TOO_YOUNG"):
        spark.sql(f"CALL lake.system.remove_orphan_files('{table_name}', {late}, dry_run => false)")
    spark.sql(f"CALL lake.system.rollback_to_timestamp('{table_name}', {late})")
    assert spark.table(table_name).count() == 3


def _arguments(procedure: Procedure, parameter: Parameter, value: str) -> str:
    required = {one.name: "'1'" for one in procedure.parameters if one.required}
    return ", ".join(f"{name} => {text}" for name, text in {**required, parameter.name: value}.items())
