"""Settings of a session by which Spark reads files otherwise change no row of a table, nor what is written back."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from judges.canonical import canonical_rows

SETTINGS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.columnVector.offheap.enabled": "true",
    "spark.sql.datetime.java8API.enabled": "true",
    "spark.sql.files.ignoreCorruptFiles": "true",
    "spark.sql.files.maxPartitionBytes": "1000",
    "spark.sql.files.openCostInBytes": "1",
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.optimizer.nestedSchemaPruning.enabled": "false",
    "spark.sql.parquet.aggregatePushdown": "true",
    "spark.sql.parquet.binaryAsString": "true",
    "spark.sql.parquet.columnarReaderBatchSize": "3",
    "spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY",
    "spark.sql.parquet.enableNestedColumnVectorizedReader": "false",
    "spark.sql.parquet.enableVectorizedReader": "false",
    "spark.sql.parquet.fieldId.read.enabled": "false",
    "spark.sql.parquet.fieldId.read.ignoreMissing": "true",
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "false",
    "spark.sql.parquet.int96AsTimestamp": "false",
    "spark.sql.parquet.int96RebaseModeInRead": "LEGACY",
    "spark.sql.parquet.mergeSchema": "true",
    "spark.sql.parquet.pushdown.inFilterThreshold": "0",
    "spark.sql.parquet.recordLevelFilter.enabled": "true",
    "spark.sql.parquet.writeLegacyFormat": "true",
    "spark.sql.sources.useV1SourceList": "",
}
COMBINED = ("spark.sql.parquet.enableVectorizedReader", "spark.sql.parquet.recordLevelFilter.enabled")
COLUMNS = (
    "id INT, n INT, t TIMESTAMP, z TIMESTAMP_LTZ, d DATE, b BINARY, v STRING, x DECIMAL(20,3), f FLOAT,"
    " s STRUCT<k: INT, w: STRING>, l ARRAY<INT>, m MAP<STRING, INT>, PRIMARY KEY (id)"
)
VALUES = (
    "CAST(id AS INT), CAST(id AS INT), TIMESTAMP_NTZ'1500-01-01 00:00:00' + make_dt_interval(CAST(id AS INT)),"
    " TIMESTAMP'1500-01-01 00:00:00Z' + make_dt_interval(CAST(id AS INT)), DATE'1500-01-01' + CAST(id AS INT),"
    " CAST(CAST(id AS STRING) AS BINARY), CAST(id AS STRING), id / 8, id / 4,"
    " named_struct('k', CAST(id AS INT), 'w', 'w'),"
    " array(CAST(id AS INT), NULL), map('k', CAST(id AS INT))"
)
QUERIES = (
    "SELECT * FROM {t}",
    "SELECT id, o, s.j FROM {t} WHERE o > 4 AND id <> 7",
    "SELECT id FROM {t} WHERE s.j = 6 OR v IN ('3', '9')",
    "SELECT count(*), max(o), min(t), max(d), sum(s.j) FROM {t}",
    "SELECT _pos, id FROM {t} WHERE o BETWEEN 2 AND 11",
)


@pytest.mark.turns(1)
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("way", ["resolved", "equality"])
def test_rows_are_the_same(spark: SparkSession, table_name: str, version: int, way: str) -> None:
    properties = f"'format-version'='{version}', 'write.upsert.mode'='{way}'"
    spark.sql(f"CREATE TABLE {table_name} ({COLUMNS}) TBLPROPERTIES ({properties})")
    spark.sql(f"INSERT INTO {table_name} SELECT {VALUES} FROM range(0, 12, 1, 1)")
    spark.sql(f"UPSERT INTO {table_name} SELECT {VALUES} FROM range(8, 16, 1, 1)")
    spark.sql(f"ALTER TABLE {table_name} RENAME COLUMN n TO o")
    spark.sql(f"ALTER TABLE {table_name} RENAME COLUMN s.k TO j")
    spark.sql(f"ALTER TABLE {table_name} ALTER COLUMN o TYPE BIGINT")
    spark.sql(f"ALTER TABLE {table_name} ADD COLUMN n STRING")
    spark.sql(f"DELETE FROM {table_name} WHERE id % 5 = 0")
    wanted = [canonical_rows(spark.sql(query.format(t=table_name))) for query in QUERIES]
    combined = {name: SETTINGS[name] for name in COMBINED}
    for settings in [{name: value} for name, value in SETTINGS.items()] + [combined, {**SETTINGS}]:
        before = {name: spark.conf.get(name) for name in settings}
        try:
            for name, value in settings.items():
                spark.conf.set(name, value)
            for query, rows in zip(QUERIES, wanted, strict=True):
                assert canonical_rows(spark.sql(query.format(t=table_name))) == rows, (settings, query)
        finally:
            for name, value in before.items():
                spark.conf.set(name, value)
