"""EXPLAIN COMMIT after a refused statement, in the session that ran it and in no other."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from sqlext.command import environment


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
