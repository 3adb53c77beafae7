"""DESCRIBE HISTORY and DESCRIBE DETAIL, beside the metadata tables."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

HISTORY = "SELECT snapshot_id, committed_at, operation, parent_id FROM {}.snapshots ORDER BY committed_at DESC"


def test_a_table_without_rows_has_no_history(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT) COMMENT 'nothing yet'")
    history = spark.sql(f"DESCRIBE HISTORY {table_name}")
    assert history.columns == ["version", "timestamp", "operation", "operationMetrics", "readVersion", "engineInfo"]
    assert history.collect() == []
    detail = spark.sql(f"DESCRIBE DETAIL {table_name}").first()
    assert (detail.description, detail.numFiles, detail.sizeInBytes) == ("nothing yet", 0, 0)


def test_history_and_detail(spark: SparkSession, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, d DATE, PRIMARY KEY (id)) PARTITIONED BY (months(d), bucket(4, id))"
        " TBLPROPERTIES ('format-version'='3', 'a.b'='c', 'write-only'='true')"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, DATE'2026-01-01'), (2, NULL)")
    spark.sql(f"DELETE FROM {table_name} WHERE id = 2")
    history = spark.sql(f"DESCRIBE HISTORY {table_name}").collect()
    expected = spark.sql(HISTORY.format(table_name)).collect()
    assert [(row.version, row.timestamp, row.operation, row.readVersion) for row in history] == expected
    assert history[1].operationMetrics["added-records"] == "2"
    assert history[0].engineInfo.startswith("sqlext ")
    assert spark.sql(f"DESC HISTORY {table_name} LIMIT 1").collect() == history[:1]
    detail = spark.sql(f"DESCRIBE DETAIL {table_name}").first()
    files = spark.sql(f"SELECT count(*), sum(file_size_in_bytes) FROM {table_name}.data_files").first()
    assert (detail.numFiles, detail.sizeInBytes) == tuple(files)
    assert (detail.format, detail.name, detail.formatVersion) == ("iceberg", table_name, 3)
    assert detail.partitionColumns == ["months(`d`)", "bucket(4, `id`)"]
    assert detail.properties["a.b"] == "c"
    assert detail.lastModified >= history[0].timestamp


def test_a_branch_has_a_history_of_its_own(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1)")
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH b")
    spark.sql(f"INSERT INTO {table_name}.branch_b VALUES (2)")
    spark.sql(f"INSERT INTO {table_name} VALUES (3)")
    main, branch = (spark.sql(f"DESCRIBE HISTORY {name}").collect() for name in (table_name, f"{table_name}.branch_b"))
    assert [len(main), len(branch)] == [2, 2]
    assert main[1] == branch[1]
    assert main[0] != branch[0]
    assert spark.sql(f"DESCRIBE DETAIL {table_name}.branch_b").first().numFiles == 2


def test_a_table_that_is_not_there(spark: SparkSession, table_name: str) -> None:
    for what in ("HISTORY", "DETAIL"):
        with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
            spark.sql(f"DESCRIBE {what} {table_name}_absent")
