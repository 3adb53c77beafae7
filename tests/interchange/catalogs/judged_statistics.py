"""Statistics and the copy of a table, in a catalog that sqlext and Iceberg share."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

from pyspark.sql import SparkSession

from judges.canonical import canonical_rows
from judges.iceberg import IcebergJudge


def check_statistics_and_copy(spark: SparkSession, iceberg: IcebergJudge, catalog: str) -> None:
    """Each engine makes statistics on top of the other's, and the copy that the list names is registered and read."""
    t = f"{catalog}.db.measured"
    spark.sql(f"CREATE TABLE {t} (id BIGINT, p INT) PARTITIONED BY (p) TBLPROPERTIES ('format-version'='3')")
    spark.sql(f"INSERT INTO {t} SELECT id, id % 3 FROM range(30)")
    for sql in (spark.sql, iceberg.sql):
        sql(f"CALL {catalog}.system.compute_table_stats('db.measured')")
        sql(f"CALL {catalog}.system.compute_partition_stats('db.measured')")
        sql("SET spark.sql.cbo.enabled=true")
    described = dict(row[:2] for row in iceberg.sql(f"DESCRIBE EXTENDED {t} p"))
    assert described["distinct_count"] == "3"
    spark.sql(f"DELETE FROM {t} WHERE id < 5")
    iceberg.sql(f"CALL {catalog}.system.compute_table_stats('db.measured')")
    rows = spark.sql(f"DESCRIBE EXTENDED {t} id").collect()
    assert {row.info_name: row.info_value for row in rows}["distinct_count"] == "25"
    for sql in (spark.sql, iceberg.sql):
        sql("RESET spark.sql.cbo.enabled")
    newest = spark.sql(f"SELECT file FROM {t}.metadata_log_entries ORDER BY timestamp DESC LIMIT 1").collect()[0].file
    prefix = newest[: newest.index("/metadata/")]
    call = f"CALL {catalog}.system.rewrite_table_path('db.measured', '{prefix}', '{prefix}_copy')"
    ((version, file_list, *_),) = spark.sql(call).collect()
    with open(_local(file_list), newline="") as lines:
        for source, target in csv.reader(lines):
            _local(target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(_local(source), _local(target))
    expected = iceberg.sql(f"SELECT * FROM {t}")
    spark.sql(f"DROP TABLE {t} PURGE")
    iceberg.sql(f"CALL {catalog}.system.register_table('db.copied', '{prefix}_copy/metadata/{version}')")
    assert iceberg.sql(f"SELECT * FROM {catalog}.db.copied") == expected
    assert canonical_rows(spark.table(f"{catalog}.db.copied")) == expected
    assert len(expected) == 25


def _local(location: str) -> Path:
    return Path(location.removeprefix("file://").removeprefix("file:"))
