"""Columns are found by field id in old files, whatever was renamed, dropped, added, moved or widened since."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from judges.canonical import canonical_rows
from judges.iceberg import IcebergJudge
from judges.pyiceberg_judge import latest_metadata

CREATE = (
    "CREATE TABLE {table} (id INT, a INT, b STRING, f FLOAT, m DECIMAL(9,2), s STRUCT<x: INT, y: STRING, z: FLOAT>,"
    " l ARRAY<STRUCT<p: INT, q: STRING>>, mp MAP<STRING, STRUCT<v: INT, w: STRING>>) USING iceberg"
    " TBLPROPERTIES ('format-version'='2', 'write.delete.mode'='merge-on-read')"
)
FIRST_ROWS = (
    "INSERT INTO {table} VALUES"
    " (1, 10, 'b1', 1.5, 1.25, named_struct('x', 1, 'y', 'y1', 'z', 0.5),"
    "  array(named_struct('p', 1, 'q', 'q1'), NULL), map('k', named_struct('v', 1, 'w', 'w1'))),"
    " (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL),"
    " (3, 30, 'b3', 3.5, 3.25, named_struct('x', NULL, 'y', NULL, 'z', NULL), array(), map())"
)
STEPS = [
    "ALTER TABLE {table} RENAME COLUMN a TO renamed",
    "ALTER TABLE {table} ALTER COLUMN renamed TYPE BIGINT",
    "ALTER TABLE {table} ADD COLUMN a STRING",
    "ALTER TABLE {table} DROP COLUMN b",
    "ALTER TABLE {table} ADD COLUMN b INT FIRST",
    "ALTER TABLE {table} ALTER COLUMN f TYPE DOUBLE",
    "ALTER TABLE {table} ALTER COLUMN m TYPE DECIMAL(18,2)",
    "ALTER TABLE {table} RENAME COLUMN m TO f2",
    "ALTER TABLE {table} ALTER COLUMN s.x TYPE BIGINT",
    "ALTER TABLE {table} RENAME COLUMN s.x TO xx",
    "ALTER TABLE {table} ADD COLUMN s.x STRING",
    "ALTER TABLE {table} DROP COLUMN s.y",
    "ALTER TABLE {table} ADD COLUMN s.y INT",
    "ALTER TABLE {table} ALTER COLUMN s.z TYPE DOUBLE",
    "ALTER TABLE {table} RENAME COLUMN s TO t",
    "ALTER TABLE {table} ADD COLUMN s STRING",
    "ALTER TABLE {table} ALTER COLUMN l.element.p TYPE BIGINT",
    "ALTER TABLE {table} RENAME COLUMN l.element.p TO pp",
    "ALTER TABLE {table} ADD COLUMN l.element.p DATE",
    "ALTER TABLE {table} DROP COLUMN mp.value.w",
    "ALTER TABLE {table} ADD COLUMN mp.value.w INT",
    "ALTER TABLE {table} ALTER COLUMN mp.value.v TYPE BIGINT",
    "ALTER TABLE {table} ADD COLUMNS (n1 INT COMMENT 'one' AFTER id, n2 STRUCT<k: STRING, v: ARRAY<INT>> FIRST)",
    "ALTER TABLE {table} ALTER COLUMN n1 AFTER n2",
    "ALTER TABLE {table} ALTER COLUMN n2.v FIRST",
    "ALTER TABLE {table} ALTER COLUMN n1 COMMENT 'other'",
]


def schema_json(warehouse: Path, table: str) -> Any:
    """The current schema, as the table's metadata holds it, and the ids that were ever given."""
    metadata = json.loads(Path(latest_metadata(warehouse.joinpath(*table.split(".")[1:]))).read_text())
    current = next(one for one in metadata["schemas"] if one["schema-id"] == metadata["current-schema-id"])
    return current, metadata["last-column-id"], len(metadata["schemas"])


def test_every_step_is_made_and_read_as_iceberg_does(
    spark: SparkSession, iceberg: IcebergJudge, warehouse: Path, table_name: str
) -> None:
    own = f"{table_name}_own"
    iceberg.sql(CREATE.format(table=table_name))
    iceberg.sql(FIRST_ROWS.format(table=table_name))
    iceberg.sql(CREATE.format(table=own))
    for step in STEPS:
        iceberg.sql(step.format(table=table_name))
        spark.sql(step.format(table=own))
        assert schema_json(warehouse, own) == schema_json(warehouse, table_name), step
        assert canonical_rows(spark.table(table_name)) == iceberg.sql(f"SELECT * FROM {table_name}"), step
    for query in [
        "SELECT id FROM {table} WHERE a IS NULL AND renamed = 10",
        "SELECT id FROM {table} WHERE b IS NULL AND f > 1.0",
        "SELECT id FROM {table} WHERE s IS NULL AND t IS NOT NULL",
        "SELECT id, t.xx FROM {table} WHERE t.x IS NULL AND t.xx = 1",
        "SELECT id, t.y, t.z FROM {table} WHERE t.z > 0",
        "SELECT l[0].pp, l[0].p, mp['k'].v, mp['k'].w FROM {table} WHERE id = 1",
        "SELECT id FROM {table} WHERE f2 = 1.25",
    ]:
        text = query.format(table=table_name)
        assert canonical_rows(spark.sql(text)) == iceberg.sql(text), query


def test_rows_written_after_an_evolution(spark: SparkSession, iceberg: IcebergJudge, table_name: str) -> None:
    iceberg.sql(CREATE.format(table=table_name))
    iceberg.sql(FIRST_ROWS.format(table=table_name))
    for step in STEPS:
        spark.sql(step.format(table=table_name))
    spark.sql(f"INSERT INTO {table_name} (id, renamed, a, b, s) VALUES (4, 3000000000, 'a', 7, 's4')")
    assert canonical_rows(spark.table(table_name)) == iceberg.sql(f"SELECT * FROM {table_name}")
    spark.sql(f"UPDATE {table_name} SET a = concat('was ', renamed), b = id WHERE renamed > 0")
    spark.sql(f"DELETE FROM {table_name} WHERE t.xx IS NULL AND f2 = 3.25")
    assert canonical_rows(spark.table(table_name)) == iceberg.sql(f"SELECT * FROM {table_name}")
    iceberg.sql(f"INSERT INTO {table_name} (id, renamed, n1) VALUES (5, 50, 500)")
    iceberg.sql(f"UPDATE {table_name} SET b = 9 WHERE id = 1")
    assert canonical_rows(spark.table(table_name)) == iceberg.sql(f"SELECT * FROM {table_name}")
