"""Partition fields and the write order change as Iceberg changes them; files of all specs are read and changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from judges.canonical import canonical_rows
from judges.iceberg import IcebergJudge
from judges.pyiceberg_judge import latest_metadata

CREATE = (
    "CREATE TABLE {table} (id INT, kind STRING, ts TIMESTAMP_NTZ, d DECIMAL(9,2)) USING iceberg PARTITIONED BY (kind)"
    " TBLPROPERTIES ('format-version'='{version}', 'write.delete.mode'='merge-on-read',"
    " 'write.update.mode'='merge-on-read')"
)
STEPS = [
    "ALTER TABLE {table} ADD PARTITION FIELD bucket(4, id)",
    "ALTER TABLE {table} ADD PARTITION FIELD truncate(2, d) AS cut",
    "ALTER TABLE {table} DROP PARTITION FIELD kind",
    "ALTER TABLE {table} REPLACE PARTITION FIELD bucket(4, id) WITH bucket(8, id) AS shard",
    "ALTER TABLE {table} ADD PARTITION FIELD month(ts)",
    "ALTER TABLE {table} REPLACE PARTITION FIELD ts_month WITH day(ts)",
    "ALTER TABLE {table} DROP PARTITION FIELD cut",
    "ALTER TABLE {table} ADD PARTITION FIELD kind",
    "ALTER TABLE {table} DROP PARTITION FIELD shard",
    "ALTER TABLE {table} ADD PARTITION FIELD bucket(8, id)",
    "ALTER TABLE {table} WRITE ORDERED BY kind, bucket(4, id) DESC",
    "ALTER TABLE {table} WRITE LOCALLY ORDERED BY d DESC NULLS FIRST",
    "ALTER TABLE {table} WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY ts",
    "ALTER TABLE {table} WRITE DISTRIBUTED BY PARTITION",
    "ALTER TABLE {table} WRITE ORDERED BY kind, bucket(4, id) DESC",
    "ALTER TABLE {table} WRITE UNORDERED",
]


def definition(warehouse: Path, table: str) -> Any:
    metadata = json.loads(Path(latest_metadata(warehouse.joinpath(*table.split(".")[1:]))).read_text())
    keys = ("partition-specs", "default-spec-id", "last-partition-id", "sort-orders", "default-sort-order-id")
    return [metadata[key] for key in keys], metadata["properties"].get("write.distribution-mode")


def rows_of(step: int) -> str:
    first = 10 * step
    return (
        f"({first}, 'a', TIMESTAMP_NTZ'2024-01-01 10:00:00', {step}.25),"
        f" ({first + 1}, 'b', TIMESTAMP_NTZ'2024-02-0{step % 9 + 1} 11:00:00', -{step}.75),"
        f" ({first + 2}, NULL, NULL, NULL)"
    )


@pytest.mark.parametrize("version", [1, 2])
def test_every_step_is_made_as_iceberg_makes_it(
    spark: SparkSession, iceberg: IcebergJudge, warehouse: Path, table_name: str, version: int
) -> None:
    own = f"{table_name}_own"
    for table in (table_name, own):
        iceberg.sql(CREATE.format(table=table, version=version))
    for step in STEPS:
        iceberg.sql(step.format(table=table_name))
        spark.sql(step.format(table=own))
        assert definition(warehouse, own) == definition(warehouse, table_name), step


def test_files_of_all_specs_are_read_and_changed(
    spark: SparkSession, iceberg: IcebergJudge, warehouse: Path, table_name: str
) -> None:
    iceberg.sql(CREATE.format(table=table_name, version=2))
    for number, step in enumerate([None, *STEPS[:10]]):
        if step is not None:
            spark.sql(step.format(table=table_name))
        engine = iceberg if number % 4 == 3 else spark
        engine.sql(f"INSERT INTO {table_name} VALUES {rows_of(number)}")
    for query in [
        "SELECT * FROM {table}",
        "SELECT * FROM {table} WHERE kind = 'a' AND id > 30",
        "SELECT * FROM {table} WHERE id = 71 OR id = 12",
        "SELECT * FROM {table} WHERE ts < TIMESTAMP_NTZ'2024-02-03' AND d < 0",
        "SELECT * FROM {table} WHERE d BETWEEN -4 AND 2.30",
        "SELECT * FROM {table} WHERE ts IS NULL AND id < 50",
    ]:
        text = query.format(table=table_name)
        assert canonical_rows(spark.sql(text)) == iceberg.sql(text), query
    for statement in [
        "DELETE FROM {table} WHERE kind = 'b' AND id < 60",
        "UPDATE {table} SET kind = 'u', d = d + 1 WHERE ts IS NULL",
        "MERGE INTO {table} AS t USING (SELECT 20 AS id UNION ALL SELECT 90 UNION ALL SELECT 1000) AS s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET kind = 'm' WHEN NOT MATCHED THEN INSERT (id, kind) VALUES (s.id, 'n')",
    ]:
        spark.sql(statement.format(table=table_name))
        assert canonical_rows(spark.table(table_name)) == iceberg.sql(f"SELECT * FROM {table_name}"), statement
    iceberg.sql(f"DELETE FROM {table_name} WHERE id IN (0, 50, 100)")
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        spark.sql(f"INSERT OVERWRITE {table_name} VALUES (101, 'b', TIMESTAMP_NTZ'2024-02-02 01:00:00', 7.00)")
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    after = iceberg.sql(f"SELECT * FROM {table_name}")
    assert canonical_rows(spark.table(table_name)) == after
    assert [row for row in after if row[0] == 101] == [[101, "b", "2024-02-02T01:00:00.000000", "7.00"]]
