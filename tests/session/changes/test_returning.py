"""RETURNING gives what its statement changed, in every way to write it, also beside other writers."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sessions import planned
from sqlext.command.change.own_transaction import in_own_transaction
from sqlext.local import LocalTable
from sqlext.testing import Faults

WAYS = [("1", "copy-on-write"), ("2", "merge-on-read"), ("2", "copy-on-write"), ("3", "merge-on-read"), ("3", "auto")]
OLD_AND_NEW = [
    "INSERT INTO {t} VALUES (7, 'g', 7.5), (8, NULL, NULL)",
    "UPSERT INTO {t} VALUES (1, 'again', 0.5), (9, 'new', 9)",
    "UPDATE {t} SET v = concat(v, '!') WHERE id > 1",
    "DELETE FROM {t} WHERE id = 2",
    "INSERT INTO {t} VALUES (1, 'x', 1) ON CONFLICT (id) DO UPDATE SET v = excluded.v",
    "INSERT OVERWRITE {t} VALUES (1, 'only', 1)",
    "MERGE INTO {t} t USING (SELECT id + 1 AS id, v FROM {t}) s ON t.id = s.id"
    " WHEN MATCHED AND s.v = 'a' THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v"
    " WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)",
    "DELETE FROM {t} WHERE id > 100",
]


def _rows(spark: SparkSession, text: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.sql(text).collect()), key=repr)


@pytest.mark.turns(2)
@pytest.mark.parametrize("statement", OLD_AND_NEW)
@pytest.mark.parametrize(("version", "mode"), WAYS)
def test_rows_before_and_after(spark: SparkSession, table_name: str, statement: str, version: str, mode: str) -> None:
    modes = ", ".join(f"'write.{verb}.mode'='{mode}'" for verb in ("delete", "update", "merge"))
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, v STRING, d DECIMAL(10, 2), PRIMARY KEY (id) NOT ENFORCED)"
        f" TBLPROPERTIES ('format-version'='{version}', 'write-only'='true', {modes})"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', NULL), (4, 'd', 4)")
    before = {row[0]: row for row in _rows(spark, f"SELECT * FROM {table_name}")}
    text = statement.format(t=table_name) + " RETURNING id, struct(OLD.*) AS old, struct(NEW.*) AS new"
    told = spark.sql(text)
    assert told.collect() == told.collect()
    after = {row[0]: row for row in _rows(spark, f"SELECT * FROM {table_name}")}
    nothing = (None, None, None)
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    found = {row.id: (tuple(row.old), tuple(row.new)) for row in told.collect()}
    if "OVERWRITE" in statement:
        assert found == {1: (nothing, after[1])}
        return
    assert found == {key: (before.get(key, nothing), after.get(key, nothing)) for key in changed}


@pytest.mark.parametrize(("version", "mode"), WAYS)
def test_rows_that_keep_their_values(spark: SparkSession, table_name: str, version: str, mode: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, m MAP<STRING, INT>)"
        f" TBLPROPERTIES ('format-version'='{version}', 'write.update.mode'='{mode}')"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, map('a', 1)), (1, map('a', 1)), (2, NULL), (3, NULL)")
    told = spark.sql(f"UPDATE {table_name} SET m = m WHERE id < 3 RETURNING id, m['a']").collect()
    exact = version == "3" or mode == "merge-on-read"
    assert sorted(map(tuple, told)) == ([(1, 1), (1, 1), (2, None)] if exact else [])


def test_writers_at_once_get_each_number_once(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 0)")
    told: list[int] = []

    def count() -> None:
        for _ in range(3):
            told.append(spark.sql(f"UPDATE {table_name} SET v = v + 1 RETURNING v").collect()[0][0])

    threads = [threading.Thread(target=count) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == list(range(1, 10))
    assert _rows(spark, f"SELECT v FROM {table_name}") == [(9,)]


@pytest.mark.parametrize("driver_bytes", [0, 2**30], ids=["tasks", "driver"])
@pytest.mark.parametrize("version", ["1", "2", "3"])
def test_rows_that_are_only_added_land_behind_other_commits(
    spark: SparkSession, table_name: str, warehouse: Path, version: str, driver_bytes: int
) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id BIGINT, v STRING) PARTITIONED BY (v)"
        f" TBLPROPERTIES ('format-version'='{version}', 'write.conflict.max-reruns'='0')"
    )
    faults = Faults()
    insert = f"INSERT INTO {table_name} SELECT id, 'a' FROM range(1, 5) RETURNING id"
    with planned(spark, driver_bytes=driver_bytes), faults.lose_next_commit(2, by=_add_other):
        told = sorted(row.id for row in spark.sql(insert).collect())
    assert told == [1, 2, 3, 4]
    assert sorted(row.id for row in spark.table(table_name).collect()) == [0, 0, 1, 2, 3, 4]
    # What was written for the version that lost is gone.
    assert _written_files(warehouse, table_name) == _named_files(spark, table_name)
    lost = pytest.raises(PySparkException, match="TRANSACTION_CONFLICT")
    with faults.lose_next_commit(by=_add_other), lost:
        spark.sql(f"UPDATE {table_name} SET id = 9 WHERE id = 1 RETURNING id")
    assert _written_files(warehouse, table_name) == _named_files(spark, table_name)


def _add_other(table: LocalTable) -> None:
    table.append([{"id": 0, "v": "other"}])


def _written_files(warehouse: Path, table: str) -> set[str]:
    folder = warehouse / table.removeprefix("lake.").replace(".", "/")
    return {path.name for kind in ("*.parquet", "*.avro") for path in folder.rglob(kind)}


def _named_files(spark: SparkSession, table: str) -> set[str]:
    queries = ("file_path FROM {}.all_files", "path FROM {}.all_manifests", "manifest_list FROM {}.snapshots")
    return {
        row[0].rpartition("/")[2] for query in queries for row in spark.sql(f"SELECT {query.format(table)}").collect()
    }


def test_added_rows_whose_numbers_another_commit_has_taken_get_others(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT GENERATED ALWAYS AS IDENTITY, v STRING)")
    for _ in range(3):
        with Faults().lose_next_commit(2, by=lambda other: other.append([{"v": "other"}])):
            told = spark.sql(f"INSERT INTO {table_name} (v) VALUES ('a'), ('b') RETURNING id, v").collect()
        assert {tuple(row) for row in told} < {tuple(row) for row in spark.table(table_name).collect()}
    ids = [row.id for row in spark.table(table_name).collect()]
    assert len(ids) == len({*ids}) == 12


def test_a_batch_that_another_process_was_faster_with_returns_nothing(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT)")
    insert = f"INSERT INTO {table_name} WITH ('txn-app-id'='a', 'txn-version'='1') VALUES (1) RETURNING id"
    with Faults().lose_next_commit(by=lambda other: other.append([{"id": 7}], batch=("a", 1))):
        assert spark.sql(insert).collect() == []
    assert spark.table(table_name).collect() == [(7,)]


def test_threads_that_add_rows(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id BIGINT GENERATED ALWAYS AS IDENTITY, v STRING)")
    told: list[int] = []
    failures: list[BaseException] = []

    def write(writer: int) -> None:
        try:
            for number in range(4):
                rows = spark.sql(f"INSERT INTO {table_name} (v) VALUES ('{writer}'), ('{number}') RETURNING id")
                told.extend(row.id for row in rows.collect())
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(told) == len({*told}) == 24
    assert sorted(told) == sorted(row.id for row in spark.table(table_name).collect())


def test_a_table_that_is_dropped_after_the_commit(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")

    def dropping(*arguments: Any, **options: Any) -> Any:
        kept = in_own_transaction(*arguments, **options)
        spark.sql(f"DROP TABLE {table_name}")
        return kept

    monkeypatch.setattr("sqlext.command.dml.returning.in_own_transaction", dropping)
    assert spark.sql(f"INSERT INTO {table_name} VALUES (1) RETURNING id").collect() == [(1,)]


def test_a_table_that_looks_after_itself_is_compacted(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT) TBLPROPERTIES ('write-only'='false', 'compaction.min.file-num'='3')")
    for number in range(3):
        assert spark.sql(f"INSERT INTO {table_name} VALUES ({number}) RETURNING id").collect()[0][0] == number
    assert spark.sql(f"SELECT * FROM {table_name}.data_files").count() == 1


def test_a_batch_returns_its_rows_once(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT)")
    insert = f"INSERT INTO {table_name} WITH ('txn-app-id'='a', 'txn-version'='1') VALUES (1) RETURNING id"
    assert [len(spark.sql(insert).collect()) for _ in range(2)] == [1, 0]
    assert spark.table(table_name).count() == 1


def test_names_of_other_columns_have_precedence(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (old INT, `a.b` INT)")
    told = spark.sql(f"INSERT INTO {table_name} VALUES (1, 2) RETURNING old, `a.b`, NEW.old, *")
    assert told.columns == ["old", "a.b", "old", "old", "a.b"]
    assert told.collect() == [(1, 2, 1, 1, 2)]
    branch = f"{table_name}.branch_b"
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH b")
    assert spark.sql(f"UPDATE {branch} SET old = 5 RETURNING branch_b.old").collect() == [(5,)]
    assert _rows(spark, f"SELECT old FROM {table_name}") == [(1,)]
    with pytest.raises(PySparkException, match="UNRESOLVED_COLUMN"):
        spark.sql(f"UPDATE {table_name} SET old = 5 RETURNING absent")


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DELETE FROM {t} WHERE id = 1 RETURNING id, v", [(1, "a")]),
        ("UPDATE {t} SET v = 'z' WHERE id = 1 RETURNING id, v", [(1, "z")]),
        ("UPDATE {t} SET v = 'z' WHERE id < 3 RETURNING OLD.v, NEW.v", [("a", "z"), ("b", "z")]),
    ],
)
def test_the_first_change_after_an_upgrade_to_format_version_3(
    spark: SparkSession, table_name: str, mode: str, statement: str, told: list[tuple[Any, ...]]
) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id INT PRIMARY KEY, v STRING) TBLPROPERTIES ('format-version'='2',"
        f" 'write.delete.mode'='{mode}', 'write.update.mode'='{mode}')"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('format-version'='3')")
    assert _rows(spark, statement.format(t=table_name)) == told
    # By now all rows have ids.
    assert _rows(spark, f"DELETE FROM {table_name} WHERE id = 3 RETURNING OLD.id") == [(3,)]


SWAPS = [
    "UPDATE {t} SET id = 3 - id WHERE id IN (1, 2) RETURNING OLD.v, NEW.v",
    "MERGE INTO {t} t USING (VALUES (1, 2), (2, 1)) s (id, other) ON t.id = s.id"
    " WHEN MATCHED THEN UPDATE SET id = s.other RETURNING OLD.v, NEW.v",
]


@pytest.mark.parametrize("statement", SWAPS)
@pytest.mark.parametrize(("version", "mode"), WAYS)
def test_keys_that_change_places(spark: SparkSession, table_name: str, version: str, mode: str, statement: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id INT PRIMARY KEY, v STRING) TBLPROPERTIES ('format-version'='{version}',"
        f" 'write.update.mode'='{mode}', 'write.merge.mode'='{mode}')"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    text = statement.format(t=table_name)
    if version == "3":
        assert _rows(spark, text) == [("a", "a"), ("b", "b")]
        return
    with pytest.raises(PySparkException, match=r"RETURNING_NOT_PAIRED.*assigns a column of the key"):
        spark.sql(text)
    assert _rows(spark, f"SELECT * FROM {table_name}") == [(1, "a"), (2, "b"), (3, "c")]
    # The key of the source equals the row's.
    star = f"MERGE INTO {table_name} t USING (VALUES (1, 'x')) s (id, v) ON s.id = t.id AND s.v <> t.v"
    assert _rows(spark, f"{star} WHEN MATCHED THEN UPDATE SET * RETURNING OLD.v, NEW.v") == [("a", "x")]


def test_pairs_beside_rows_that_keep_their_values(spark: SparkSession, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id INT PRIMARY KEY, v STRING) TBLPROPERTIES ('format-version'='2',"
        " 'write.update.mode'='copy-on-write', 'write.merge.mode'='copy-on-write')"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'z'), (3, 'c'), (4, 'd')")
    update = f"UPDATE {table_name} SET v = 'z' WHERE id < 3 RETURNING id, OLD.v, NEW.v"
    assert _rows(spark, update) == [(1, "a", "z")]
    merge = (
        f"MERGE INTO {table_name} t USING (VALUES (1, 'z'), (3, 'e')) s (id, v) ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED BY SOURCE AND id = 4 THEN DELETE"
        " RETURNING merge_action(), id, OLD.v, NEW.v"
    )
    assert _rows(spark, merge) == [("DELETE", 4, "d", None), ("UPDATE", 3, "c", "e")]
    # Of rows with one key it is not known which became which.
    spark.sql(f"INSERT INTO {table_name} SELECT id, v FROM VALUES (5, 'a'), (5, 'b'), (6, 'x') AS s (id, v)")
    with pytest.raises(PySparkException, match=r"RETURNING_NOT_PAIRED.*a key occurs several times"):
        spark.sql(f"UPDATE {table_name} SET v = if(v = 'a', 'b', 'c') WHERE id = 5 RETURNING OLD.v, NEW.v")
