"""EXPLAIN COMMIT after a refused statement, in the session that ran it and in no other."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sqlext.command import environment
from sqlext.command.dml import contested_keys


def explained(spark: SparkSession) -> dict[str, list[str]]:
    facts: dict[str, list[str]] = {}
    for fact, value in spark.sql("EXPLAIN COMMIT").collect():
        facts.setdefault(fact, []).append(value)
    return facts


def snapshot(spark: SparkSession, table: str) -> Any:
    return spark.sql(f"SELECT snapshot_id, operation FROM {table}.snapshots ORDER BY committed_at DESC").first()


@pytest.fixture
def behind(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Has a statement refused by another one, which lands just before its commit."""
    commit = environment.commit

    def run(statement: str, other: str) -> None:
        def commit_behind(*arguments: Any, **options: Any) -> Any:
            monkeypatch.setattr(environment, "commit", commit)
            spark.newSession().sql(other)
            return commit(*arguments, **options)

        monkeypatch.setattr(environment, "commit", commit_behind)
        with pytest.raises(PySparkException, match=r"CONFLICT|CONCURRENT"):
            spark.sql(statement)

    return run


def filled(spark: SparkSession, name: str) -> None:
    spark.sql(
        f"CREATE TABLE {name} (id INT, v INT, PRIMARY KEY (id))"
        " TBLPROPERTIES ('write.conflict.max-reruns'='0', 'write-only'='true')"
    )
    spark.sql(f"INSERT INTO {name} VALUES (1, 1), (2, 2), (3, 3)")


def test_without_a_conflict(spark: SparkSession) -> None:
    assert explained(spark.newSession()) == {
        "conflict": ["none: no commit of this session was refused because of another one"]
    }


def test_a_conflict_of_rows(spark: SparkSession, table_name: str, behind: Callable[[str, str], None]) -> None:
    filled(spark, table_name)
    planned = snapshot(spark, table_name)
    statement = f"UPDATE {table_name} SET v = v + 1 WHERE id < 3"
    behind(statement, f"UPDATE {table_name} SET v = 0 WHERE id = 2")
    facts, other = explained(spark), snapshot(spark, table_name)
    assert facts["table"] == [table_name]
    assert facts["statement"] == [statement]
    assert facts["condition"] == ["WRITE_CONFLICT"]
    assert facts["planned_on"] == [f"snapshot {planned.snapshot_id}"]
    assert facts["in_the_way"] == [f"snapshot {other.snapshot_id}"]
    assert facts["operation"] == [other.operation]
    assert facts["key"] == [json.dumps({"id": 2})]
    assert len(facts["file"]) in (1, 2)
    assert "engine-name = sqlext" in facts["author"]
    assert facts["refused_at"][0] >= facts["committed_at"][0]
    # Each session has its own, and a success does not forget it.
    spark.sql(f"DELETE FROM {table_name} WHERE id = 3")
    assert explained(spark) == facts
    assert list(explained(spark.newSession())) == ["conflict"]


def test_a_conflict_of_a_transaction_names_the_files_of_the_other(spark: SparkSession, table_name: str) -> None:
    filled(spark, table_name)
    planned = snapshot(spark, table_name)
    spark.sql("BEGIN")
    spark.sql(f"DELETE FROM {table_name} WHERE id = 1")
    spark.newSession().sql(f"INSERT INTO {table_name} VALUES (9, 9)")
    with pytest.raises(PySparkException, match="TRANSACTION_CONFLICT"):
        spark.sql("COMMIT")
    facts, other = explained(spark), snapshot(spark, table_name)
    assert facts["statement"] == ["COMMIT"]
    assert facts["table"] == [table_name]
    assert facts["planned_on"] == [f"snapshot {planned.snapshot_id}"]
    assert facts["in_the_way"] == [f"snapshot {other.snapshot_id}"]
    (added,) = facts["file"]
    added_files = spark.sql(
        f"SELECT data_file.file_path FROM {table_name}.entries WHERE snapshot_id = {other.snapshot_id}"
    )
    assert [row[0] for row in added_files.collect()] == [added]


_WAYS = {
    "position deletes": "'format-version'='2'",
    "deletion vectors": "'format-version'='3'",
    "copy-on-write": "'write.update.mode'='copy-on-write', 'write.delete.mode'='copy-on-write'",
    "equality deletes": "'write.upsert.mode'='equality'",
}


def keyed(spark: SparkSession, name: str, way: str) -> None:
    spark.sql(
        f"CREATE TABLE {name} (day DATE, `the id` INT, v INT, tags ARRAY<STRING>, PRIMARY KEY (day, `the id`))"
        f" TBLPROPERTIES ('write-only'='true', {_WAYS[way]})"
    )
    spark.sql(f"INSERT INTO {name} SELECT DATE '2024-01-01', id, id, array('a') FROM range(10)")


def refused_keys(spark: SparkSession, statements: list[str], others: list[str]) -> dict[str, list[str]]:
    spark.sql("BEGIN")
    for one in statements:
        spark.sql(one)
    for one in others:
        spark.newSession().sql(one)
    with pytest.raises(PySparkException, match="TRANSACTION_CONFLICT"):
        spark.sql("COMMIT")
    return explained(spark)


@pytest.mark.parametrize("way", _WAYS)
def test_a_conflict_of_a_transaction_names_the_keys_of_both(spark: SparkSession, table_name: str, way: str) -> None:
    keyed(spark, table_name, way)
    day = "DATE '2024-01-01'"
    facts = refused_keys(
        spark,
        [
            f"UPDATE {table_name} SET v = -1 WHERE `the id` IN (1, 2, 3)",
            f"DELETE FROM {table_name} WHERE `the id` = 7",
            f"UPSERT INTO {table_name} VALUES ({day}, 20, 1, null), ({day}, 5, 1, array('b'))",
        ],
        [
            f"INSERT INTO {table_name} VALUES (DATE '2024-01-02', 1, 1, null)",
            f"UPDATE {table_name} SET v = 9 WHERE `the id` IN (3, 4, 7)",
            f"UPSERT INTO {table_name} VALUES ({day}, 20, 2, null)",
        ],
    )
    # The first snapshot in the way changed no key of the transaction, the second two.
    history = spark.sql(f"SELECT snapshot_id FROM {table_name}.snapshots ORDER BY committed_at").collect()
    assert facts["in_the_way"] == [f"snapshot {history[-2].snapshot_id}"]
    assert sorted(facts["key"]) == [json.dumps({"day": "2024-01-01", "the id": id}) for id in (3, 7)]
    assert facts["file"]


@pytest.mark.parametrize("way", _WAYS)
def test_a_conflict_of_a_transaction_without_a_key_of_both(spark: SparkSession, table_name: str, way: str) -> None:
    keyed(spark, table_name, way)
    facts = refused_keys(
        spark,
        [f"UPDATE {table_name} SET v = -1 WHERE `the id` < 3"],
        [f"DELETE FROM {table_name} WHERE `the id` = 4", f"CALL lake.system.rewrite_data_files('{table_name}')"],
    )
    assert "key" not in facts
    assert facts["operation"] in (["delete"], ["overwrite"])


def test_a_conflict_of_a_transaction_on_a_branch(spark: SparkSession, table_name: str) -> None:
    keyed(spark, table_name, "position deletes")
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH tried")
    change = "SET v = -1 WHERE `the id` < 3"
    facts = refused_keys(
        spark,
        [f"UPDATE {table_name}.branch_tried {change}"],
        [f"UPDATE {table_name} {change}", f"UPDATE {table_name}.branch_tried SET v = 0 WHERE `the id` = 2"],
    )
    assert facts["key"] == [json.dumps({"day": "2024-01-01", "the id": 2})]


@pytest.mark.parametrize("limit", ["_MOST_ROWS", "_MOST_VALUES", "_MOST_BYTES"])
def test_keys_of_large_changes_are_not_told(
    spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    keyed(spark, table_name, "copy-on-write" if limit == "_MOST_BYTES" else "position deletes")
    monkeypatch.setattr(contested_keys, limit, 0)
    change = f"UPDATE {table_name} SET v = -1 WHERE `the id` < 3"
    facts = refused_keys(spark, [change], [change])
    assert "key" not in facts
    assert facts["file"]


def test_a_conflict_of_a_data_frame(spark: SparkSession, table_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(spark, table_name)
    commit = environment.commit

    def commit_behind(*arguments: Any, **options: Any) -> Any:
        monkeypatch.setattr(environment, "commit", commit)
        spark.newSession().sql(f"UPSERT INTO {table_name} VALUES (2, 20)")
        return commit(*arguments, **options)

    monkeypatch.setattr(environment, "commit", commit_behind)
    rows = spark.createDataFrame([(2, 21)], "id INT, v INT")
    with pytest.raises(PySparkException, match="WRITE_CONFLICT"):
        rows.writeTo(table_name).option("upsert-enabled", "true").append()
    facts = explained(spark)
    assert facts["statement"] == ["write of a DataFrame (append)"]
    assert facts["key"] == [json.dumps({"id": 2})]
