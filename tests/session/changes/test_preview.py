"""PREVIEW shows what its statement then does, and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

CHANGES = [
    ("INSERT INTO {t} VALUES (7, 'g', 7.5), (8, NULL, NULL)", 1),
    ("UPSERT INTO {t} VALUES (1, 'again', 0.5), (9, 'new', 9)", 1),
    ("UPDATE {t} SET v = concat(v, '!') WHERE id > 1", 1),
    ("DELETE FROM {t} WHERE id = 2", 1),
    ("WITH s AS (SELECT 1 AS id) DELETE FROM {t} WHERE id IN (SELECT id FROM s)", 1),
    ("INSERT INTO {t} VALUES (1, 'x', 1) ON CONFLICT (id) DO UPDATE SET v = excluded.v", 1),
    ("INSERT OVERWRITE {t} VALUES (1, 'only', 1)", 1),
    (
        "MERGE INTO {t} t USING (SELECT id + 1 AS id, v FROM {t}) s ON t.id = s.id"
        " WHEN MATCHED AND s.v = 'a' THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v"
        " WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)",
        1,
    ),
    ("DELETE FROM {t} WHERE id > 100", 0),
]


def rows(spark: SparkSession, text: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.sql(text).collect()), key=repr)


def files(table: str, warehouse: Path) -> set[str]:
    return {str(path) for path in warehouse.joinpath(*table.split(".")[1:]).rglob("*") if path.is_file()}


def snapshots(spark: SparkSession, table: str) -> Sequence[int]:
    return [row[0] for row in spark.sql(f"SELECT snapshot_id FROM {table}.snapshots ORDER BY committed_at").collect()]


def changes_after(spark: SparkSession, table: str, snapshot: int) -> list[tuple[Any, ...]]:
    """What the statements behind `snapshot` did, in the columns of a preview."""
    kinds = {
        "INSERT": "insert",
        "DELETE": "delete",
        "UPDATE_BEFORE": "update_preimage",
        "UPDATE_AFTER": "update_postimage",
    }
    found = spark.sql(f"SELECT * FROM table_changes('{table}', {snapshot}, NULL, 'net')")
    told = [row.asDict() for row in found.collect()]
    names = [name for name in found.columns if not name.startswith("_c")]
    return sorted(((kinds[row["_change_type"]], *(row[name] for name in names)) for row in told), key=repr)


@pytest.mark.turns(3)
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(("statement", "commits"), CHANGES)
def test_a_preview_is_what_happens(
    spark: SparkSession, table_name: str, warehouse: Path, statement: str, commits: int, version: int
) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, v STRING, d DECIMAL(10, 2), PRIMARY KEY (id) NOT ENFORCED)"
        f" TBLPROPERTIES ('format-version' = '{version}')"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', NULL)")
    before, there = snapshots(spark, table_name), files(table_name, warehouse)
    text = statement.format(t=table_name)
    shown = spark.sql(f"PREVIEW {text}")
    summary = spark.sql(f"PREVIEW SUMMARY {text}").collect()[0]
    assert (snapshots(spark, table_name), files(table_name, warehouse)) == (before, there)
    assert shown.columns == ["_change_type", "id", "v", "d"]
    spark.sql(text)
    found = sorted(map(tuple, shown.collect()), key=repr)
    assert found == changes_after(spark, table_name, before[-1])
    assert len(snapshots(spark, table_name)) == len(before) + commits
    kinds = [row[0] for row in found]
    counts = [kinds.count(kind) for kind in ("insert", "update_postimage", "delete")]
    assert list(summary)[:3] == counts
    if commits:
        told = spark.sql(f"SELECT summary FROM {table_name}.snapshots ORDER BY committed_at DESC LIMIT 1").collect()[0][
            0
        ]
        assert summary["added_data_files"] == int(told.get("added-data-files", 0))
        assert summary["removed_data_files"] == int(told.get("deleted-data-files", 0))
        assert summary["added_delete_files"] == int(told.get("added-delete-files", 0))
        assert summary["added_bytes"] > 0


def test_the_rows_are_in_the_order_of_the_key(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    shown = spark.sql(f"PREVIEW UPDATE {table_name} SET v = upper(v) WHERE id < 3").collect()
    assert [tuple(row) for row in shown] == [
        ("update_preimage", 1, "a"),
        ("update_postimage", 1, "A"),
        ("update_preimage", 2, "b"),
        ("update_postimage", 2, "B"),
    ]


def test_all_types(spark: SparkSession, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (b BOOLEAN, i INT, l BIGINT, f FLOAT, d DOUBLE, e DECIMAL(38, 10), y DATE,"
        " t TIMESTAMP, n TIMESTAMP_NTZ, x BINARY, s STRUCT<a: INT NOT NULL, `b.c`: ARRAY<STRING>>,"
        " m MAP<STRING, STRUCT<z: DATE>>, `a.b` STRING NOT NULL COMMENT 'dotted')"
    )
    text = (
        f"INSERT INTO {table_name} VALUES (true, 1, 2, 3, 4, 5.5, DATE '2024-01-02', TIMESTAMP '2024-01-02 03:04:05',"
        " TIMESTAMP_NTZ '2024-01-02 03:04:05.123456', X'0102', named_struct('a', 1, 'b.c', array('p', NULL)),"
        " map('k', named_struct('z', DATE '2024-01-03')), 'q')"
    )
    shown = spark.sql(f"PREVIEW {text}")
    spark.sql(text)
    table = spark.table(table_name)
    assert [(f.name, f.dataType.simpleString()) for f in shown.schema.fields[1:]] == [
        (f.name, f.dataType.simpleString()) for f in table.schema.fields
    ]
    assert [tuple(row)[1:] for row in shown.collect()] == [tuple(row) for row in table.collect()]


def test_a_refused_statement_is_refused_as_it_is(spark: SparkSession, table_name: str, warehouse: Path) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v INT, PRIMARY KEY (id) ENFORCED, CHECK (v > 0))")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1), (2, 2)")
    there = files(table_name, warehouse)
    twice = f"(SELECT 1 AS id UNION ALL SELECT 1) s ON {table_name}.id = s.id WHEN MATCHED THEN UPDATE SET v = 3"
    for text in (
        f"INSERT INTO {table_name} VALUES (1, 5)",
        f"INSERT INTO {table_name} SELECT id + 5, -1 FROM range(3)",
        f"UPDATE {table_name} SET v = v - 1",
        f"MERGE INTO {table_name} USING {twice}",
        f"DELETE FROM {table_name} WHERE nothing = 1",
        f"INSERT INTO {table_name}_absent VALUES (1)",
    ):
        conditions = []
        for start in ("PREVIEW", "PREVIEW SUMMARY", ""):
            with pytest.raises(PySparkException) as refused:
                spark.sql(f"{start} {text}")
            conditions.append(refused.value.getCondition())
        assert conditions[0]
        assert conditions == [conditions[0]] * 3
        assert files(table_name, warehouse) == there
    assert rows(spark, f"SELECT * FROM {table_name}") == [(1, 1), (2, 2)]


def test_within_a_transaction(spark: SparkSession, table_name: str, warehouse: Path) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a')")
    spark.sql("BEGIN")
    try:
        spark.sql(f"INSERT INTO {table_name} VALUES (2, 'b')")
        there = files(table_name, warehouse)
        assert rows(spark, f"PREVIEW DELETE FROM {table_name}") == [("delete", 1, "a"), ("delete", 2, "b")]
        text = f"INSERT INTO {table_name} SELECT id + 2, v FROM {table_name}"
        assert rows(spark, f"PREVIEW {text}") == [("insert", 3, "a"), ("insert", 4, "b")]
        assert files(table_name, warehouse) == there
        assert rows(spark, f"SELECT id FROM {table_name}") == [(1,), (2,)]
        spark.sql(f"INSERT INTO {table_name} VALUES (3, 'c')")
        spark.sql("COMMIT")
    except BaseException:
        spark.sql("ROLLBACK")
        raise
    assert rows(spark, f"SELECT id FROM {table_name}") == [(1,), (2,), (3,)]


def test_statements_beside_it_are_committed(spark: SparkSession, table_name: str) -> None:
    """What the session's other threads commit while a preview runs is theirs."""
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    spark.sql(f"CREATE TABLE {table_name}_other (id INT)")
    spark.udf.register("beside", lambda id: id, "int")
    from threading import Thread

    def commit() -> None:
        for number in range(5):
            spark.sql(f"INSERT INTO {table_name} VALUES ({number})")

    thread = Thread(target=commit)
    thread.start()
    for _ in range(5):
        assert rows(spark, f"PREVIEW INSERT INTO {table_name} VALUES (100)") == [("insert", 100)]
    thread.join()
    assert rows(spark, f"SELECT * FROM {table_name}") == [(number,) for number in range(5)]


def test_branches_and_staged_snapshots(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT) TBLPROPERTIES ('write.wap.enabled' = 'true')")
    spark.sql(f"INSERT INTO {table_name} VALUES (1)")
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH b")
    spark.sql(f"INSERT INTO {table_name}.branch_b VALUES (2)")
    assert rows(spark, f"PREVIEW DELETE FROM {table_name}.branch_b") == [("delete", 1), ("delete", 2)]
    assert rows(spark, f"PREVIEW INSERT INTO {table_name} WITH ('branch' = 'b') VALUES (3)") == [("insert", 3)]
    for setting, value in (("spark.wap.branch", "fresh"), ("spark.wap.id", "w1")):
        spark.conf.set(setting, value)
        try:
            assert rows(spark, f"PREVIEW INSERT INTO {table_name} VALUES (4)") == [("insert", 4)]
        finally:
            spark.conf.unset(setting)
    assert rows(spark, f"SELECT name FROM {table_name}.refs") == [("b",), ("main",)]
    assert len(snapshots(spark, table_name)) == 2


def test_no_record_of_a_batch(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    insert = f"INSERT INTO {table_name} WITH ('txn-app-id' = 'a', 'txn-version' = '1') VALUES (1)"
    assert rows(spark, f"PREVIEW {insert}") == [("insert", 1)] == rows(spark, f"PREVIEW {insert}")
    spark.sql(insert)
    assert rows(spark, f"PREVIEW {insert}") == []
    assert rows(spark, f"SELECT * FROM {table_name}") == [(1,)]


def test_too_many_rows(spark: SparkSession, table_name: str, warehouse: Path) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT)")
    there = files(table_name, warehouse)
    spark.conf.set("sqlext.plan.preview-rows", "10")
    try:
        assert len(rows(spark, f"PREVIEW INSERT INTO {table_name} SELECT * FROM range(10)")) == 10
        with pytest.raises(PySparkException, match="PREVIEW_TOO_LONG"):
            spark.sql(f"PREVIEW INSERT INTO {table_name} SELECT * FROM range(11)")
    finally:
        spark.conf.unset("sqlext.plan.preview-rows")
    summary = spark.sql(f"PREVIEW SUMMARY INSERT INTO {table_name} SELECT * FROM range(11)").collect()[0]
    assert summary["num_inserted_rows"] == 11
    assert files(table_name, warehouse) == there


def test_new_columns_are_refused(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    text = f"INSERT WITH SCHEMA EVOLUTION INTO {table_name} SELECT 1 AS id, 'x' AS more"
    with pytest.raises(AnalysisException, match="PREVIEW_OF_OTHER_COLUMNS"):
        spark.sql(f"PREVIEW {text}")
    assert spark.sql(f"PREVIEW SUMMARY {text}").collect()[0]["num_inserted_rows"] == 1
    assert spark.table(table_name).columns == ["id"]


def test_a_table_that_looks_after_itself_is_left_alone(spark: SparkSession, table_name: str, warehouse: Path) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, PRIMARY KEY (id) NOT ENFORCED)"
        " TBLPROPERTIES ('write-only' = 'false', 'write.wap.enabled' = 'false')"
    )
    for number in range(6):
        spark.sql(f"INSERT INTO {table_name} VALUES ({number})")
    before, there = snapshots(spark, table_name), files(table_name, warehouse)
    for _ in range(3):
        assert rows(spark, f"PREVIEW INSERT INTO {table_name} VALUES (9)") == [("insert", 9)]
    assert (snapshots(spark, table_name), files(table_name, warehouse)) == (before, there)


def test_statements_that_have_no_preview(spark: SparkSession) -> None:
    for text in ("PREVIEW UPDATE spark_catalog.default.none SET a = 1", "PREVIEW DELETE FROM parquet.`/tmp/x`"):
        with pytest.raises(PySparkException, match="PREVIEW of this statement"):
            spark.sql(text)
    with pytest.raises(PySparkException):
        spark.sql("PREVIEW SELECT 1")


def test_parameters_and_execute_immediate(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b')")
    named = spark.sql(f"PREVIEW INSERT INTO {table_name} VALUES (:id, :v)", args={"id": 3, "v": "it's"})
    assert [tuple(row) for row in named.collect()] == [("insert", 3, "it's")]
    by_place = spark.sql(f"PREVIEW SUMMARY DELETE FROM {table_name} WHERE id = ?", args=[2])
    assert [row.num_deleted_rows for row in by_place.collect()] == [1]
    assert rows(spark, f"EXECUTE IMMEDIATE 'PREVIEW DELETE FROM {table_name} WHERE id < ?' USING 2") == [
        ("delete", 1, "a")
    ]
    assert rows(spark, f"SELECT id FROM {table_name}") == [(1,), (2,)]
