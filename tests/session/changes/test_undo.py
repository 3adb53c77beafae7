"""CALL system.undo reverses one commit by rows, also where later commits stand on it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from judges.iceberg import IcebergJudge
from session.changes.undone_changes import Rows, applied, compact, head, table_rows, undo

KINDS = ("keyed", "plain")


def rows(spark: SparkSession, text: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.sql(text).collect()), key=repr)


def make(spark: SparkSession, table: str, kind: str, version: int, mode: str = "merge-on-read") -> None:
    key = ", PRIMARY KEY (id) NOT ENFORCED" if kind == "keyed" else ""
    modes = ", ".join(f"'write.{verb}.mode' = '{mode}'" for verb in ("delete", "update", "merge"))
    spark.sql(
        f"CREATE TABLE {table} (id INT, v STRING, `d.x` DOUBLE{key})"
        f" TBLPROPERTIES ('format-version' = '{version}', {modes})"
    )


@pytest.mark.parametrize("mode", ["merge-on-read", "copy-on-write"])
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_one_commit_among_others(
    spark: SparkSession, iceberg: IcebergJudge, table_name: str, kind: str, version: int, mode: str
) -> None:
    make(spark, table_name, kind, version, mode)
    spark.sql(f"INSERT INTO {table_name} SELECT CAST(id AS INT), concat('v', id), id / 2 FROM range(10)")
    undone = {}
    for name, text in {
        "update": f"UPDATE {table_name} SET v = 'changed' WHERE id IN (1, 2)",
        "delete": f"DELETE FROM {table_name} WHERE id = 3",
        "insert": f"INSERT INTO {table_name} VALUES (20, 'new', NULL), (21, NULL, 1)",
    }.items():
        spark.sql(text)
        undone[name] = head(spark, table_name)
    spark.sql(f"UPDATE {table_name} SET v = 'later' WHERE id = 5")
    compact(spark, table_name)
    before = head(spark, table_name)
    assert undo(spark, table_name, undone["update"]) == (before, head(spark, table_name), 2, 2)
    assert undo(spark, table_name, undone["delete"])[2:] == (0, 1)
    assert undo(spark, table_name, undone["insert"])[2:] == (2, 0)
    expected = sorted([(id, "later" if id == 5 else f"v{id}", id / 2) for id in range(10)], key=repr)
    assert rows(spark, f"SELECT * FROM {table_name}") == expected
    assert iceberg.sql(f"SELECT count(*), CAST(2 * sum(`d.x`) AS INT) FROM {table_name}") == [[10, 45]]
    told = spark.sql(f"SELECT summary FROM {table_name}.snapshots WHERE snapshot_id = {head(spark, table_name)}")
    assert told.collect()[0][0]["sqlext.undone-snapshot-id"] == str(undone["insert"])


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_in_the_way_are_named(spark: SparkSession, table_name: str, kind: str, version: int) -> None:
    make(spark, table_name, kind, version)
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a', 1), (2, 'b', 2)")
    spark.sql(f"UPDATE {table_name} SET v = upper(v)")
    snapshot = head(spark, table_name)
    spark.sql(f"UPDATE {table_name} SET v = 'in the way' WHERE id = 2")
    way = head(spark, table_name)
    with pytest.raises(AnalysisException, match=r'UNDO_ROWS_CHANGED.*"id": 2') as refused:
        undo(spark, table_name, snapshot)
    assert '"id": 1' not in str(refused.value)
    assert head(spark, table_name) == way
    undo(spark, table_name, way)
    undo(spark, table_name, snapshot)
    assert rows(spark, f"SELECT * FROM {table_name}") == [(1, "a", 1), (2, "b", 2)]


def test_a_key_that_was_inserted_again_is_in_the_way(spark: SparkSession, table_name: str) -> None:
    make(spark, table_name, "keyed", 2)
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a', 1), (2, 'b', 2)")
    spark.sql(f"DELETE FROM {table_name} WHERE id = 1")
    snapshot = head(spark, table_name)
    spark.sql(f"UPSERT INTO {table_name} VALUES (1, 'again', 1)")
    with pytest.raises(AnalysisException, match=r'UNDO_ROWS_CHANGED.*"id": 1'):
        undo(spark, table_name, snapshot)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_an_undo_is_undone_and_made_once(spark: SparkSession, table_name: str, kind: str, version: int) -> None:
    make(spark, table_name, kind, version)
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a', 1), (2, 'b', 2)")
    first = rows(spark, f"SELECT * FROM {table_name}")
    spark.sql(f"DELETE FROM {table_name} WHERE id = 1")
    snapshot, second = head(spark, table_name), rows(spark, f"SELECT * FROM {table_name}")
    for _ in range(2):
        undo(spark, table_name, snapshot)
        undoing = head(spark, table_name)
        assert rows(spark, f"SELECT * FROM {table_name}") == first
        with pytest.raises(AnalysisException, match=rf"UNDO_NOT_POSSIBLE.*undone by snapshot {undoing}"):
            undo(spark, table_name, snapshot)
        undo(spark, table_name, undoing)
        assert rows(spark, f"SELECT * FROM {table_name}") == second


def test_a_dry_run_commits_nothing(spark: SparkSession, table_name: str, warehouse: Path) -> None:
    make(spark, table_name, "keyed", 2)
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a', 1)")
    spark.sql(f"UPSERT INTO {table_name} VALUES (1, 'b', 1), (2, 'c', 1)")
    snapshot = head(spark, table_name)
    folder = warehouse.joinpath(*table_name.split(".")[1:])
    there = {path for path in folder.rglob("*") if path.is_file()}
    assert undo(spark, table_name, snapshot, ", dry_run => true") == (snapshot, snapshot, 2, 1)
    assert {path for path in folder.rglob("*") if path.is_file()} == there
    assert undo(spark, table_name, snapshot)[2:] == (2, 1)
    assert rows(spark, f"SELECT * FROM {table_name}") == [(1, "a", 1)]


def test_branches_transactions_and_other_columns(spark: SparkSession, table_name: str) -> None:
    make(spark, table_name, "keyed", 2)
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a', 1)")
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH b")
    spark.sql(f"INSERT INTO {table_name}.branch_b VALUES (2, 'b', 2)")
    snapshot = spark.sql(f"SELECT snapshot_id FROM {table_name}.refs WHERE name = 'b'").collect()[0][0]
    with pytest.raises(AnalysisException, match=r"UNDO_NOT_POSSIBLE.*history"):
        undo(spark, table_name, snapshot)
    undo(spark, f"{table_name}.branch_b", snapshot)
    assert rows(spark, f"SELECT id FROM {table_name}.branch_b") == [(1,)]
    spark.sql(f"DELETE FROM {table_name}")
    snapshot = head(spark, table_name)
    spark.sql(f"ALTER TABLE {table_name} RENAME COLUMN v TO w")
    spark.sql(f"ALTER TABLE {table_name} ADD COLUMN more INT")
    spark.sql("BEGIN")
    try:
        undo(spark, table_name, snapshot)
        assert rows(spark, f"SELECT id, w, more FROM {table_name}") == [(1, "a", None)]
    finally:
        spark.sql("ROLLBACK")
    assert rows(spark, f"SELECT * FROM {table_name}") == []
    spark.sql(f"ALTER TABLE {table_name} DROP COLUMN w")
    with pytest.raises(AnalysisException, match=r"UNDO_NOT_POSSIBLE.*columns v"):
        undo(spark, table_name, snapshot)


def test_what_cannot_be_undone(spark: SparkSession, table_name: str) -> None:
    make(spark, table_name, "plain", 2)
    for id in range(3):
        spark.sql(f"INSERT INTO {table_name} VALUES ({id}, 'a', 1)")
    compact(spark, table_name)
    with pytest.raises(AnalysisException, match=r"UNDO_NOT_POSSIBLE.*rewrote files"):
        undo(spark, table_name, head(spark, table_name))
    with pytest.raises(PySparkException, match="UNDO_NOT_POSSIBLE"):
        undo(spark, table_name, 17)
    spark.sql(f"UPDATE {table_name} SET v = v")
    with pytest.raises(AnalysisException, match=r"UNDO_NOT_POSSIBLE.*no row"):
        undo(spark, table_name, head(spark, table_name))
    spark.sql(f"DELETE FROM {table_name} WHERE id = 0")
    spark.sql(f"INSERT INTO {table_name} VALUES (7, 'b', 1)")
    spark.sql(
        f"CALL lake.system.expire_snapshots('{table_name.removeprefix('lake.')}', older_than => TIMESTAMP '2999-01-01',"
        " retain_last => 1)"
    )
    assert undo(spark, table_name, head(spark, table_name))[2:] == (1, 0)


def _statement(rng: random.Random, table: str, kind: str) -> str:
    ids = ", ".join(str(rng.randrange(12)) for _ in range(rng.randrange(1, 4)))
    value = rng.choice(["'x'", "'y'", "concat(v, '+')", "NULL", "upper(v)"])
    literal = rng.choice(["'x'", "'y'", "NULL"])
    source = ", ".join(f"({rng.randrange(15)}, {literal})" for _ in range(3))
    own = f"(SELECT s.id, max(s.v) AS v FROM (VALUES {source}) s (id, v) GROUP BY s.id)"
    texts = [
        f"INSERT INTO {table} SELECT id, v, 0.5 FROM {own} WHERE id > 11",
        f"DELETE FROM {table} WHERE id IN ({ids})",
        f"UPDATE {table} SET v = {value} WHERE id IN ({ids})",
        f"MERGE INTO {table} t USING {own} s ON t.id = s.id WHEN MATCHED AND s.id % 3 = 0 THEN DELETE"
        " WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)",
    ]
    if kind == "keyed":
        texts += [f"UPSERT INTO {table} SELECT id, v, 1 FROM {own}"] * 2
        texts.append(
            f"INSERT INTO {table} AS t SELECT id, v, 2 FROM {own} ON CONFLICT (id) DO UPDATE SET v = concat(t.v, 'c')"
        )
    return rng.choice(texts)


def _undone(spark: SparkSession, table: str, snapshot: int) -> bool:
    """Undoes the snapshot; False if rows are in the way."""
    try:
        undo(spark, table, snapshot)
    except AnalysisException as refused:
        if refused.getCondition() != "UNDO_ROWS_CHANGED":
            raise
        return False
    return True


def _random_statements(
    spark: SparkSession, iceberg: IcebergJudge, table: str, kind: str, version: int, count: int, seed: int
) -> Mapping[str, int]:
    """Each statement does what its preview showed. Then each snapshot, newest or not, is undone: the rows are those
    without its changes, or it is refused and they stay. At last all are undone, newest first, and the rows are those of
    the beginning."""
    rng = random.Random(seed)
    make(spark, table, kind, version, rng.choice(["merge-on-read", "copy-on-write"]))
    spark.sql(f"INSERT INTO {table} SELECT CAST(id AS INT), concat('v', id % 3), NULL FROM range(10)")
    changes: dict[int, tuple[Rows, Rows]] = {}
    beginning, told = table_rows(spark, table), {"changed": 0, "undone": 0, "refused": 0}
    for number in range(count):
        before, at = table_rows(spark, table), head(spark, table)
        text = _statement(rng, table, kind)
        preview = [tuple(row) for row in spark.sql(f"PREVIEW {text}").collect()]
        assert head(spark, table) == at
        spark.sql(text)
        after = table_rows(spark, table)
        assert after == applied(before, preview), (seed, number, text, preview)
        if after != before:
            changes[head(spark, table)] = (after - before, before - after)
            told["changed"] += 1
        if rng.random() < 0.1:
            compact(spark, table)
        if changes and rng.random() < 0.5:
            snapshot = rng.choice(list(changes)[-3:])
            came, went = changes[snapshot]
            if not _undone(spark, table, snapshot):
                assert table_rows(spark, table) == after, (seed, number)
                told["refused"] += 1
            else:
                assert came <= after, (seed, number)
                assert table_rows(spark, table) == after - came + went, (seed, number, text)
                told["undone"] += 1
                undo(spark, table, head(spark, table))
                assert table_rows(spark, table) == after, (seed, number, text)
    for snapshot in reversed(list(changes)):
        undo(spark, table, snapshot)
    assert table_rows(spark, table) == beginning, seed
    assert iceberg.sql(f"SELECT count(*) FROM {table}") == [[beginning.total()]]
    return told


@pytest.mark.turns(1)
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_few_random_statements(
    spark: SparkSession, iceberg: IcebergJudge, table_name: str, kind: str, version: int, seed: int
) -> None:
    _random_statements(spark, iceberg, table_name, kind, version, 5, seed)


@pytest.mark.long
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_random_statements(
    spark: SparkSession, iceberg: IcebergJudge, table_name: str, kind: str, version: int, seed: int
) -> None:
    told = _random_statements(spark, iceberg, table_name, kind, version, 75, seed)
    assert min(told.values()) > 0, told
