"""merge_branch against a model: random changes of two branches of a table, and the three-way merge of dictionaries."""

from __future__ import annotations

import json
import random
import re

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

Rows = dict[int, str]


def _rows(spark: SparkSession, table: str) -> Rows:
    return {row.id: row.v for row in spark.table(table).collect()}


def _change(spark: SparkSession, table: str, rng: random.Random, word: str) -> None:
    for _ in range(3):
        keys = ", ".join(str(rng.randrange(12)) for _ in range(3))
        match rng.randrange(3):
            case 0:
                spark.sql(f"DELETE FROM {table} WHERE id IN ({keys})")
            case 1:
                spark.sql(f"UPDATE {table} SET v = '{rng.choice([word, 'same'])}' WHERE id IN ({keys})")
            case _:
                spark.sql(f"UPSERT INTO {table} SELECT explode(array_distinct(array({keys}))), '{word}'")


@pytest.mark.parametrize(("version", "conflict"), [("1", "ours"), ("2", "theirs"), ("3", "ours"), ("3", "theirs")])
def test_random_changes(spark: SparkSession, table_name: str, version: str, conflict: str) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    rng, branch = random.Random(seed), f"{table_name}.branch_work"
    spark.sql(f"CREATE TABLE {table_name} (id INT PRIMARY KEY, v STRING) TBLPROPERTIES ('format-version'='{version}')")
    spark.sql(f"INSERT INTO {table_name} SELECT id, 'first' FROM range(8)")
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH work")
    base = _rows(spark, table_name)
    for turn in ("", "2"):
        _change(spark, branch, rng, f"theirs{turn}")
        _change(spark, table_name, rng, f"ours{turn}")
        ours, theirs = _rows(spark, table_name), _rows(spark, branch)
        changed = [key for key in range(12) if theirs.get(key) != base.get(key)]
        differing = [key for key in changed if ours.get(key) != base.get(key) and ours.get(key) != theirs.get(key)]
        name = table_name.partition(".")[2]
        told = spark.sql(f"CALL lake.system.merge_branch('{name}', 'work', 'main', 'report')").collect()[0]
        assert sorted(json.loads(text)["key"]["id"] for text in told.conflicts) == differing
        assert (told.conflicting_rows_count, _rows(spark, table_name)) == (len(differing), ours)
        if differing:
            with pytest.raises(PySparkException, match="BRANCH_NOT_MERGED"):
                spark.sql(f"CALL lake.system.merge_branch('{name}', 'work')")
        spark.sql(f"CALL lake.system.merge_branch('{name}', 'work', 'main', '{conflict}')")
        applied = [key for key in changed if conflict == "theirs" or key not in differing]
        wanted = {key: row for key in range(12) if (row := (theirs if key in applied else ours).get(key)) is not None}
        assert _rows(spark, table_name) == wanted
        assert _rows(spark, branch) == theirs
        base = theirs


def test_a_constraint_and_an_expired_ancestor(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT PRIMARY KEY, v INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1)")
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH work")
    spark.sql(f"UPDATE {table_name}.branch_work SET v = -1")
    spark.sql(f"ALTER TABLE {table_name} ADD CONSTRAINT positive CHECK (v > 0)")
    name = table_name.partition(".")[2]
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH other")
    for arguments, told in (("'work'", table_name), ("'work', 'other'", f"{table_name}.branch_other")):
        with pytest.raises(PySparkException, match=rf"CHECK_CONSTRAINT_VIOLATION.* {re.escape(told)} "):
            spark.sql(f"CALL lake.system.merge_branch('{name}', {arguments})")
    spark.sql(f"ALTER TABLE {table_name} DROP BRANCH other")
    spark.sql(f"INSERT INTO {table_name} VALUES (2, 2)")
    spark.sql(f"CALL lake.system.expire_snapshots('{name}', TIMESTAMP '2999-01-01 00:00:00')")
    with pytest.raises(PySparkException, match=r"BRANCH_NOT_MERGED.*expired"):
        spark.sql(f"CALL lake.system.merge_branch('{name}', 'work')")
    assert _rows(spark, table_name) == {1: 1, 2: 2}


def _merge(spark: SparkSession, table: str, *arguments: str) -> int:
    listed = ", ".join(f"'{word}'" for word in (table.partition(".")[2], *arguments))
    merged: int = spark.sql(f"CALL lake.system.merge_branch({listed})").collect()[0].merged_rows_count
    return merged


def _branched(spark: SparkSession, table: str, rows: str, properties: str = "") -> str:
    key = "(id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED)"
    spark.sql(f"CREATE TABLE {table} {key} TBLPROPERTIES ('write-only'='true'{properties})")
    spark.sql(f"INSERT INTO {table} VALUES {rows}")
    spark.sql(f"ALTER TABLE {table} CREATE BRANCH work")
    return f"{table}.branch_work"


@pytest.mark.turns(1, pool="merged before")
def test_a_branch_that_was_merged_before(spark: SparkSession, table_name: str) -> None:
    branch = _branched(spark, table_name, "(1, 'a'), (2, 'b'), (3, 'c')")
    spark.sql(f"INSERT INTO {branch} VALUES (5, 'e')")
    spark.sql(f"UPDATE {branch} SET v = 'B' WHERE id = 2")
    spark.sql(f"UPDATE {branch} SET v = 'C' WHERE id = 3")
    assert _merge(spark, table_name, "work") == 3
    spark.sql(f"DELETE FROM {table_name} WHERE id = 5")
    spark.sql(f"UPDATE {table_name} SET v = 'b' WHERE id = 2")
    assert _merge(spark, table_name, "work") == 0
    spark.sql(f"UPDATE {branch} SET v = 'CC' WHERE id = 3")
    assert _merge(spark, table_name, "work") == 1
    assert _rows(spark, table_name) == {1: "a", 2: "b", 3: "CC"}
    # Back into the branch, whose rows main has merged.
    assert _merge(spark, table_name, "main", "work") == 2
    assert _rows(spark, branch) == _rows(spark, table_name)
    spark.sql(f"DELETE FROM {branch} WHERE id = 1")
    assert _merge(spark, table_name, "work") == 1
    assert _rows(spark, table_name) == {2: "b", 3: "CC"}


@pytest.mark.turns(1, pool="merged before")
def test_a_merge_without_changes_is_known_to_the_next_one(spark: SparkSession, table_name: str) -> None:
    branch = _branched(spark, table_name, "(1, 'a')")
    for table in (branch, table_name):
        spark.sql(f"INSERT INTO {table} VALUES (2, 'b')")
    assert _merge(spark, table_name, "work") == 0
    spark.sql(f"DELETE FROM {table_name} WHERE id = 2")
    assert _merge(spark, table_name, "work") == 0
    assert _rows(spark, table_name) == {1: "a"}


@pytest.mark.turns(1, pool="merged before")
def test_after_the_merge_has_expired(spark: SparkSession, table_name: str) -> None:
    branch = _branched(spark, table_name, "(1, 'a')")
    spark.sql(f"INSERT INTO {branch} VALUES (5, 'e')")
    assert _merge(spark, table_name, "work") == 1
    spark.sql(f"DELETE FROM {table_name} WHERE id = 5")
    name = table_name.partition(".")[2]
    spark.sql(f"CALL lake.system.expire_snapshots('{name}', TIMESTAMP '2999-01-01 00:00:00')")
    spark.sql(f"UPDATE {branch} SET v = 'A' WHERE id = 1")
    with pytest.raises(PySparkException, match=r"BRANCH_NOT_MERGED.*expired"):
        _merge(spark, table_name, "work")
    assert _rows(spark, table_name) == {1: "a"}


def test_merges_of_each_other_at_once(spark: SparkSession, table_name: str) -> None:
    branch = _branched(spark, table_name, "(1, 'a')")
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH other")
    spark.sql(f"INSERT INTO {branch} VALUES (2, 'b')")
    assert _merge(spark, table_name, "work", "other") == 1
    spark.sql(f"INSERT INTO {table_name} VALUES (3, 'c')")
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH third")
    assert _merge(spark, table_name, "third", "other") == 1
    assert _merge(spark, table_name, "third", "work") == 1
    with pytest.raises(PySparkException, match=r"BRANCH_NOT_MERGED.*of which none has those of the others"):
        _merge(spark, table_name, "other", "work")


@pytest.mark.parametrize(
    ("on_branch", "on_main"),
    [
        ("DELETE FROM {t} WHERE v = 'a'", None),
        ("INSERT INTO {t} VALUES (2, 'twice'), (2, 'thrice')", None),
        ("DELETE FROM {t} WHERE id = 3", "INSERT INTO {t} VALUES (3, 'again')"),
    ],
)
def test_keys_that_occur_twice(spark: SparkSession, table_name: str, on_branch: str, on_main: str | None) -> None:
    branch = _branched(spark, table_name, "(1, 'a'), (1, 'b'), (3, 'c')")
    spark.sql(on_branch.format(t=branch))
    if on_main is not None:
        spark.sql(on_main.format(t=table_name))
    before = sorted(map(tuple, spark.table(table_name).collect()))
    for conflict in ("theirs", "report"):
        with pytest.raises(PySparkException, match=r"BRANCH_NOT_MERGED.*occur several times"):
            _merge(spark, table_name, "work", "main", conflict)
    assert sorted(map(tuple, spark.table(table_name).collect())) == before
    # Other keys than the changed ones may.
    spark.sql(f"ALTER TABLE {table_name} REPLACE BRANCH work")
    spark.sql(f"INSERT INTO {branch} VALUES (9, 'i')")
    assert _merge(spark, table_name, "work") == 1


def test_settings_of_write_audit_publish(spark: SparkSession, table_name: str) -> None:
    branch = _branched(spark, table_name, "(1, 'a')", ", 'write.wap.enabled'='true'")
    spark.sql(f"INSERT INTO {branch} VALUES (2, 'b')")
    try:
        spark.sql("SET spark.wap.id = audit")
        with pytest.raises(PySparkException, match=r"BRANCH_NOT_MERGED.*spark.wap.id is set"):
            _merge(spark, table_name, "work")
        spark.sql("RESET spark.wap.id")
        spark.sql("SET spark.wap.branch = audit")
        assert _merge(spark, table_name, "work") == 1
    finally:
        spark.sql("RESET spark.wap.id")
        spark.sql("RESET spark.wap.branch")
    assert _rows(spark, f"{table_name}.branch_main") == _rows(spark, table_name) == {1: "a", 2: "b"}
    assert [row.name for row in spark.sql(f"SELECT name FROM {table_name}.refs ORDER BY name").collect()] == [
        "main",
        "work",
    ]
