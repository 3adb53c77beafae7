"""merge_branch against a model: random changes of two branches of a table, and the three-way merge of dictionaries."""

from __future__ import annotations

import json
import random

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
    _change(spark, branch, rng, "theirs")
    _change(spark, table_name, rng, "ours")
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


def test_a_constraint_and_an_expired_ancestor(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT PRIMARY KEY, v INT)")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 1)")
    spark.sql(f"ALTER TABLE {table_name} CREATE BRANCH work")
    spark.sql(f"UPDATE {table_name}.branch_work SET v = -1")
    spark.sql(f"ALTER TABLE {table_name} ADD CONSTRAINT positive CHECK (v > 0)")
    name = table_name.partition(".")[2]
    with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION"):
        spark.sql(f"CALL lake.system.merge_branch('{name}', 'work')")
    spark.sql(f"INSERT INTO {table_name} VALUES (2, 2)")
    spark.sql(f"CALL lake.system.expire_snapshots('{name}', TIMESTAMP '2999-01-01 00:00:00')")
    with pytest.raises(PySparkException, match=r"BRANCH_NOT_MERGED.*expired"):
        spark.sql(f"CALL lake.system.merge_branch('{name}', 'work')")
    assert _rows(spark, table_name) == {1: 1, 2: 2}
