"""What sqlext writes, Iceberg's runtime and PyIceberg read; what Iceberg's runtime writes, sqlext reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F

from judges.canonical import canonical_rows
from judges.judged import Judged

UPSERT = """
MERGE INTO {table} AS t USING (SELECT * FROM VALUES {rows} AS s(id, kind, day, amount)) AS s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
"""
ROWS = (
    "(1, 'a', DATE'2024-01-01', 1.50), (2, 'b', DATE'2024-01-31', NULL), (3, NULL, DATE'2024-02-01', -3.25),"
    " (4, 'a/b', NULL, 4.00), (5, 'ž', DATE'1969-12-31', 0.01)"
)
PARTITIONINGS = {
    "unpartitioned": "",
    "identity": "PARTITIONED BY (kind)",
    "transforms": "PARTITIONED BY (months(day), bucket(4, id), truncate(1, kind))",
}


def create(judged: Judged, partitioning: str, properties: str = "", *, key: bool = False) -> None:
    constraint = ", PRIMARY KEY (id)" if key else ""
    judged.run(
        f"CREATE TABLE {{table}} (id INT, kind STRING, day DATE, amount DECIMAL(9,2){constraint})"
        f" {partitioning} {properties}"
    )
    judged.run(f"INSERT INTO {{table}} VALUES {ROWS}")


@pytest.mark.parametrize("partitioning", PARTITIONINGS.values(), ids=PARTITIONINGS)
def test_every_kind_of_statement(judged: Judged, partitioning: str) -> None:
    create(judged, partitioning)
    judged.run("INSERT INTO {table} (id, kind) SELECT id + 10, kind FROM {table} WHERE id <= 3")
    judged.run("DELETE FROM {table} WHERE id IN (1, 12)")
    judged.run("UPDATE {table} SET amount = coalesce(amount, 0) + 1, kind = upper(kind) WHERE id < 5")
    judged.run(
        "MERGE INTO {table} AS t USING (SELECT * FROM VALUES (2, 'm'), (3, 'd'), (20, 'n') AS s(id, op)) AS s"
        " ON t.id = s.id WHEN MATCHED AND s.op = 'd' THEN DELETE WHEN MATCHED THEN UPDATE SET kind = s.op"
        " WHEN NOT MATCHED THEN INSERT (id, kind) VALUES (s.id, s.op)"
        " WHEN NOT MATCHED BY SOURCE AND t.id = 13 THEN UPDATE SET day = DATE'2024-12-31'"
    )
    judged.run("DELETE FROM {table} WHERE day IS NULL")
    judged.run(f"INSERT OVERWRITE {{table}} VALUES {ROWS}")
    judged.run("DELETE FROM {table}")
    assert judged.count() == 0


@pytest.mark.parametrize("mode", ["equality", "resolved"])
@pytest.mark.parametrize("partitioning", ["", "PARTITIONED BY (bucket(2, id))"], ids=["unpartitioned", "bucket"])
def test_upserts(judged: Judged, mode: str, partitioning: str) -> None:
    create(judged, partitioning, f"TBLPROPERTIES ('write.upsert.mode'='{mode}')", key=True)
    judged.run(UPSERT.replace("{rows}", "(2, 'B', NULL, 2.00), (6, 'f', DATE'2024-06-06', 6.00)"))
    judged.run(UPSERT.replace("{rows}", "(2, 'BB', DATE'2024-02-02', NULL), (1, 'A', NULL, NULL)"))
    judged.run("DELETE FROM {table} WHERE id = 6")
    judged.run(UPSERT.replace("{rows}", "(6, 'back', NULL, 1.00)"))
    judged.run("UPDATE {table} SET kind = 'last' WHERE id = 2")
    assert judged.count() == 6


def test_overwrite_of_the_partitions_written(judged: Judged) -> None:
    create(judged, PARTITIONINGS["identity"])
    judged.spark.table(judged.table).where("kind = 'a'").writeTo(judged.table).overwritePartitions()
    judged.check()
    judged.run("INSERT OVERWRITE {table} PARTITION (kind = 'ž') SELECT 50, DATE'2024-05-05', 5.00")
    assert judged.count() == 5


def test_overwrite_of_a_partition(judged: Judged) -> None:
    """Files of the partition go whole; of those that are older than the partitioning, the rows that match."""
    create(judged, "")
    judged.run_in_iceberg("INSERT INTO {table} VALUES (6, 'a', NULL, 6.00)")
    judged.run_in_iceberg("ALTER TABLE {table} ADD PARTITION FIELD kind")
    judged.run("INSERT INTO {table} VALUES (8, 'a', NULL, 8.00), (9, 'b', NULL, 9.00)")
    judged.run("DELETE FROM {table} WHERE id = 2")
    judged.run("INSERT OVERWRITE {table} PARTITION (kind = 'a') SELECT 10, DATE'2024-05-05', 5.00")
    assert [row.id for row in judged.spark.table(judged.table).sort("id").collect()] == [3, 4, 5, 9, 10]
    summary = judged.spark.table(f"{judged.table}.snapshots").orderBy(F.desc("committed_at")).first()["summary"]
    assert (summary["deleted-data-files"], summary["added-position-deletes"]) == ("2", "1")
    judged.run_in_iceberg("INSERT OVERWRITE {table} SELECT 1, 'z', NULL, NULL")


def test_create_table_as_select(judged: Judged) -> None:
    judged.run(
        f"CREATE TABLE {{table}} PARTITIONED BY (kind) AS SELECT * FROM VALUES {ROWS} AS v(id, kind, day, amount)"
    )
    judged.run("CREATE OR REPLACE TABLE {table} AS SELECT id, kind FROM {table} WHERE id < 3")
    assert judged.count() == 2


def test_the_layout_for_object_stores(judged: Judged) -> None:
    create(judged, PARTITIONINGS["transforms"], "TBLPROPERTIES ('write.object-storage.enabled'='true')")
    judged.run("UPDATE {table} SET kind = 'u' WHERE id = 2")
    judged.run_in_iceberg("INSERT INTO {table} VALUES (6, 'f', NULL, 6.00)")
    paths = [row.file_path for row in judged.spark.table(f"{judged.table}.files").collect()]
    assert all(re.search("/data(/[01]{4}){3}/[01]{8}/day_month=", path) for path in paths)


def test_a_sorted_table(judged: Judged) -> None:
    create(judged, "PARTITIONED BY (kind) ORDERED BY (id DESC, bucket(2, amount))")
    judged.run_in_iceberg("INSERT INTO {table} VALUES (6, 'a', NULL, 6.00), (9, 'a', NULL, 9.00)")
    judged.run("INSERT INTO {table} VALUES (7, 'a', NULL, 7.00), (8, 'a', NULL, 8.00)")
    newest = judged.spark.table(f"{judged.table}.files").where("readable_metrics.id.upper_bound = 8").first()
    assert newest is not None
    assert [row.id for row in judged.spark.read.parquet(newest.file_path).collect()] == [8, 7]


def test_a_format_version_is_raised(judged: Judged) -> None:
    create(judged, PARTITIONINGS["identity"], "TBLPROPERTIES ('format-version'='1')")
    judged.run_in_iceberg("INSERT INTO {table} VALUES (6, 'a', NULL, 6.00)")
    judged.run("ALTER TABLE {table} SET TBLPROPERTIES ('format-version'='2')")
    judged.run("DELETE FROM {table} WHERE id IN (1, 6)")
    judged.run("INSERT INTO {table} VALUES (7, 'a', NULL, 7.00)")
    judged.run_in_iceberg("UPDATE {table} SET kind = 'i' WHERE id = 2")
    assert judged.count() == 5


def test_every_type(judged: Judged) -> None:
    judged.run(
        "CREATE TABLE {table} (b BOOLEAN, i INT, l BIGINT, f FLOAT, d DOUBLE, m1 DECIMAL(9,2), m2 DECIMAL(18,4),"
        " m3 DECIMAL(38,10), dt DATE, ts TIMESTAMP, tn TIMESTAMP_NTZ, s STRING, bin BINARY, list ARRAY<INT>,"
        " map MAP<STRING, DOUBLE>, st STRUCT<x: INT, y: STRUCT<z: DATE>>,"
        " deep ARRAY<STRUCT<k: STRING, v: MAP<INT, STRING>>>)"
    )
    judged.run(
        "INSERT INTO {table} VALUES (true, 2147483647, 9223372036854775807, float('NaN'), double('-Infinity'),"
        " 9999999.99, -99999999999999.9999, 1234567890123456789012345678.0123456789, DATE'0001-01-01',"
        " TIMESTAMP'1969-12-31 23:59:59.999999Z', TIMESTAMP_NTZ'2024-02-29 12:34:56.789012', 'žluť 🐎', X'00FF',"
        " array(1, NULL), map('a', 1.5D, 'b', NULL), named_struct('x', 1, 'y', named_struct('z', DATE'2024-01-01')),"
        " array(named_struct('k', 'k', 'v', map(1, NULL)), NULL))"
    )
    # PyIceberg reads a null list of structs as an empty one (iceberg-python#3833)
    judged.run("INSERT INTO {table} (i, deep) VALUES (NULL, array())")
    judged.run("UPDATE {table} SET s = 'changed' WHERE b")


def test_a_null_list_of_structs(judged: Judged) -> None:
    judged.spark.sql(f"CREATE TABLE {judged.table} (id INT, deep ARRAY<STRUCT<k: STRING>>)")
    judged.spark.sql(f"INSERT INTO {judged.table} VALUES (1, NULL), (2, array()), (3, array(NULL))")
    rows = [[1, None], [2, []], [3, [None]]]
    assert canonical_rows(judged.spark.table(judged.table)) == rows
    assert judged.iceberg.sql(f"SELECT * FROM {judged.table}") == rows


def test_fixed_length_binary(judged: Judged) -> None:
    judged.run("CREATE TABLE {table} (id INT, fx BINARY(4), s STRUCT<f: BINARY(2)>)")
    judged.run("INSERT INTO {table} VALUES (1, X'01020304', named_struct('f', X'0102')), (2, NULL, NULL)")
    assert judged.spark.sql(f"SELECT id FROM {judged.table} WHERE fx = X'01020304'").count() == 1


def test_iceberg_writes_what_sqlext_reads(judged: Judged) -> None:
    judged.run_in_iceberg(
        "CREATE TABLE {table} (id INT, kind STRING, day DATE, amount DECIMAL(9,2)) USING iceberg"
        " PARTITIONED BY (months(day)) TBLPROPERTIES ('format-version'='2', 'write.delete.mode'='merge-on-read',"
        " 'write.update.mode'='merge-on-read', 'write.merge.mode'='merge-on-read')"
    )
    judged.run_in_iceberg(f"INSERT INTO {{table}} VALUES {ROWS}")
    judged.run_in_iceberg(f"INSERT INTO {{table}} VALUES {ROWS}")
    judged.run_in_iceberg("DELETE FROM {table} WHERE id = 2")
    judged.run_in_iceberg(UPSERT.replace("{rows}", "(30, 'n', DATE'2024-03-03', 1.00), (3, 'u', NULL, 1.00)"))
    judged.run("INSERT INTO {table} VALUES (40, 'by sqlext', NULL, NULL)")
    judged.run("DELETE FROM {table} WHERE id = 1")
    judged.run_in_iceberg("UPDATE {table} SET kind = 'by iceberg' WHERE id IN (40, 5)")
    assert judged.count() == 8


def test_turns_on_a_keyed_table(judged: Judged) -> None:
    create(judged, "", "TBLPROPERTIES ('write.upsert.mode'='equality')", key=True)
    judged.run(UPSERT.replace("{rows}", "(1, 'eq', NULL, NULL)"))
    judged.run_in_iceberg("INSERT INTO {table} VALUES (7, 'seven', NULL, NULL)")
    judged.run_in_iceberg("DELETE FROM {table} WHERE id = 2")
    judged.run(UPSERT.replace("{rows}", "(7, 'SEVEN', NULL, NULL), (2, 'again', NULL, NULL)"))
    assert judged.count() == 6


def test_the_key_is_there_for_iceberg(judged: Judged) -> None:
    create(judged, "", key=True)
    columns = {row[0]: row[1] for row in judged.iceberg.sql(f"DESCRIBE TABLE {judged.table}")}
    assert columns["id"] == "int"
    judged.iceberg.sql(f"ALTER TABLE {judged.table} SET IDENTIFIER FIELDS id")
    judged.check()


def test_files_without_field_ids_and_without_a_mapping_are_refused_by_their_name(
    judged: Judged, tmp_path: Path
) -> None:
    create(judged, "", key=True)
    judged.spark.sql(f"SELECT * FROM {judged.table}").write.parquet(str(tmp_path / "added"))
    judged.iceberg.sql(
        f"CALL lake.system.add_files(table => '{judged.table}', source_table => '`parquet`.`{tmp_path}/added`')"
    )
    judged.spark.sql(f"ALTER TABLE {judged.table} UNSET TBLPROPERTIES ('schema.name-mapping.default')")
    upsert = UPSERT.replace("{rows}", "(2, 'B', NULL, 2.00)").replace("{table}", judged.table)
    with pytest.raises(AnalysisException, match="without field ids") as refusal:
        judged.spark.sql(upsert)
    assert refusal.value.getCondition() == "UNSUPPORTED_TABLE_FEATURE"
