"""`table_changes`, whose small steps the driver computes: the rows that a query finds."""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.sql import SparkSession

from session.changelogs.change_folding import require_folds, snapshots_of
from session.changelogs.test_few_changes import COLUMNS, STATEMENTS
from sessions import planned
from sqlext.sql.lowering.union import union_all

TABLES = {
    "v2": (COLUMNS, ", PRIMARY KEY (id, k)", "'format-version'='2'"),
    "v3": (COLUMNS, ", PRIMARY KEY (id, k)", "'format-version'='3'"),
    "equality": (COLUMNS, ", PRIMARY KEY (id, k)", "'write.upsert.mode'='equality', 'format-version'='2'"),
    "copy-on-write": (COLUMNS, ", PRIMARY KEY (id, k)", "'write.update.mode'='copy-on-write'"),
    "stored": (COLUMNS, ", PRIMARY KEY (id, k)", "'changelog-producer'='lookup'"),
    "no key": (COLUMNS, "", "'format-version'='3'"),
    "read by queries alone": (f"{COLUMNS}, u UUID, a ARRAY<STRUCT<x: INT>>", ", PRIMARY KEY (id, k)", "'bucket'='2'"),
}


def _rows(spark: SparkSession, query: str) -> Counter[str]:
    """With one zero and one NaN."""
    return Counter(str(row).replace("-0.0", "0.0") for row in spark.sql(query).collect())


@pytest.mark.parametrize("kind", TABLES)
def test_told_changes_are_those_of_a_query(spark: SparkSession, table_name: str, kind: str) -> None:
    columns, key, properties = TABLES[kind]
    spark.sql(f"CREATE TABLE {table_name} ({columns}{key}) TBLPROPERTIES ({properties}, 'write-only'='true')")
    given = ", ".join(name for name in spark.table(table_name).columns if name not in ("u", "a"))
    for number, statement in enumerate(STATEMENTS):
        text = statement.format(table=table_name)
        if key or "UPSERT" not in text:
            spark.sql(text.replace(f"INTO {table_name} SELECT", f"INTO {table_name} ({given}) SELECT", number == 0))
    if key:
        require_folds(spark, table_name)
    snapshots = snapshots_of(spark, table_name)
    last = snapshots[-1]
    for arguments in ("", f", {snapshots[1]}", f", {snapshots[2]}, {last}, 'net'", f", NULL, {last}, 'net'"):
        query = f"SELECT * FROM table_changes('{table_name}'{arguments})"
        found, schema = _rows(spark, query), spark.sql(query).schema
        for limits in ({"table_changes_rows": 0}, {"table_changes_rows": 5}, {"driver_bytes": 300}):
            with planned(spark, **limits):
                assert _rows(spark, query) == found, (arguments, limits)
                assert [(field.name, field.dataType) for field in spark.sql(query).schema] == [
                    (field.name, field.dataType) for field in schema
                ]


def test_told_changes_of_many_snapshots_are_one_relation(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('write-only'='true')")
    for number in range(5):
        spark.sql(f"UPSERT INTO {table_name} VALUES (1, 'v{number}'), ({number + 2}, 'new')")
    changes = spark.sql(f"SELECT * FROM table_changes('{table_name}')")
    plan = changes._jdf.queryExecution().analyzed().toString()  # type: ignore[operator]
    assert plan.count("LocalRelation") == 1
    assert Counter(changes.collect()) == Counter(
        (id, v, kind, ordinal, snapshot)
        for ordinal, snapshot in enumerate(snapshots_of(spark, table_name))
        for id, v, kind in (
            (ordinal + 2, "new", "INSERT"),
            (1, f"v{ordinal}", "UPDATE_AFTER" if ordinal else "INSERT"),
            *([(1, f"v{ordinal - 1}", "UPDATE_BEFORE")] if ordinal else []),
        )
    )


def test_a_query_of_thousands_of_steps_is_analyzed(spark: SparkSession) -> None:
    steps = union_all([f"SELECT {number} AS n" for number in range(2_000)])
    assert spark.sql(steps).columns == ["n"]


def test_told_changes_are_read_by_no_job_of_their_own(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id))")
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b')")
    spark.sql(f"UPDATE {table_name} SET v = 'c' WHERE id = 2")
    changes = spark.sql(f"SELECT * FROM table_changes('{table_name}') WHERE id = 2")
    plan = changes._jdf.queryExecution().optimizedPlan().toString()  # type: ignore[operator]
    assert "LocalRelation" in plan
    assert "RelationV2" not in plan
    twice = changes.alias("a").join(changes.alias("b"), ["_change_ordinal", "_change_type"])
    assert twice.count() == 3
    spark.sql(f"DELETE FROM {table_name} WHERE id = 2")
    assert changes.count() == 3
