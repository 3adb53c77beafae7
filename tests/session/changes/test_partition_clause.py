"""PARTITION of an INSERT, and partitionings that cut a point in time twice, as Iceberg's runtime judges them."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from judges.iceberg import IcebergJudge, JudgeError

COLUMNS = "(id INT, data STRING, ts TIMESTAMP, day DATE)"
PARTITIONINGS = [
    "",
    "PARTITIONED BY (data)",
    "PARTITIONED BY (days(ts), data, bucket(4, id))",
    "PARTITIONED BY (truncate(1, data))",
]
_TS, _DAY = "TIMESTAMP'2024-01-31 10:00:00'", "DATE'2024-01-31'"
SOURCES = [
    f"PARTITION (data = 'q') SELECT 1, {_TS}, {_DAY}",
    f"PARTITION (DATA = 'q') SELECT 1, {_TS}, {_DAY}",
    f"PARTITION (data) SELECT 1, 'q', {_TS}, {_DAY}",
    f"PARTITION (data, day) SELECT 1, 'q', {_TS}, {_DAY}",
    f"PARTITION (data = 'q', day) SELECT 1, {_TS}, {_DAY}",
    f"PARTITION (id = 1) SELECT 'q', {_TS}, {_DAY}",
    f"PARTITION (ts_day = {_DAY}) SELECT 1, 'q', {_TS}, {_DAY}",
    f"PARTITION (ts = {_TS}) SELECT 1, 'q', {_DAY}",
    f"PARTITION (nope = 1) SELECT 1, 'q', {_TS}, {_DAY}",
    f"PARTITION (data = 'q', data = 'r') SELECT 1, {_TS}, {_DAY}",
    f"PARTITION (data = NULL) SELECT 1, {_TS}, {_DAY}",
    f"PARTITION (data = rand()) SELECT 1, {_TS}, {_DAY}",
    f"PARTITION (data = explode(array('a', 'b'))) SELECT 1, {_TS}, {_DAY}",
    f"PARTITION (data = max('a')) SELECT 1, {_TS}, {_DAY}",
    f"PARTITION (data = id) SELECT 1 AS id, {_TS}, {_DAY}",
    f"PARTITION (data = DEFAULT) SELECT 1, {_TS}, {_DAY}",
    f"PARTITION (data = 'q') (id, ts, day) SELECT 1, {_TS}, {_DAY}",
]
SPECS = [
    ("days(ts), hours(ts)", True),
    ("years(day), months(day)", True),
    ("years(day), days(ts)", False),
    ("bucket(4, id), id", False),
    ("id, id", True),
    ("bucket(4, id), bucket(4, id)", True),
    ("ts, days(ts)", False),
]


@pytest.mark.parametrize("partitioning", PARTITIONINGS)
def test_partition_clauses(spark: SparkSession, iceberg: IcebergJudge, table_name: str, partitioning: str) -> None:
    """Each is taken or refused as Iceberg does, and gives the same rows."""
    judges = f"{table_name}_judged"
    spark.sql(f"CREATE TABLE {table_name} {COLUMNS} {partitioning}")
    iceberg.sql(f"CREATE TABLE {judges} {COLUMNS} USING iceberg {partitioning}")
    told = []
    for number, source in enumerate(SOURCES):
        head = "INSERT OVERWRITE" if number % 3 == 2 else "INSERT INTO"
        try:
            iceberg.sql(f"{head} {judges} {source}")
            by_iceberg = True
        except JudgeError:
            by_iceberg = False
        try:
            spark.sql(f"{head} {table_name} {source}")
            ours = True
        except AnalysisException:
            ours = False
        if ours != by_iceberg:
            told.append((f"{head} {source}", ours, by_iceberg))
    assert told == []
    assert iceberg.sql(f"SELECT * FROM {table_name}") == iceberg.sql(f"SELECT * FROM {judges}")


@pytest.mark.parametrize(("spec", "redundant"), SPECS)
def test_redundant_partitionings(
    spark: SparkSession, iceberg: IcebergJudge, table_name: str, spec: str, redundant: bool
) -> None:
    def refused(run: object, text: str) -> bool:
        try:
            run(text)
        except (AnalysisException, JudgeError):
            return True
        return False

    create = "CREATE TABLE {} (id INT, data STRING, ts TIMESTAMP, day DATE) USING iceberg PARTITIONED BY (" + spec + ")"
    assert refused(iceberg.sql, create.format(f"{table_name}_judged")) is redundant
    assert refused(spark.sql, create.format(table_name)) is redundant
    replaced = create.format(table_name).replace("CREATE", "CREATE OR REPLACE")
    assert refused(spark.sql, replaced) is redundant
    asked = replaced.replace("(id INT, data STRING, ts TIMESTAMP, day DATE) ", "")
    assert (
        refused(spark.sql, asked + " AS SELECT 1 AS id, 'a' AS data, now() AS ts, current_date() AS day") is redundant
    )
