"""Merge-on-read whose tasks read the columns without new values from the data files: rows, row ids and snapshots are
those of a query that gives all columns."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interchange.tables.test_row_lineage import lineage
from judges.canonical import canonical_rows
from judges.judged import Judged
from sessions import planned
from turns import EVERY

COLUMNS = ("id", "n", *(f"c{number}" for number in range(8)))
MERGES = (
    "MERGE INTO {table} AS t USING {table}_source AS s ON t.id = s.id"
    " WHEN MATCHED AND s.n % 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET n = s.n, c3 = concat(t.c3, s.n)",
    "MERGE INTO {table} AS t USING {table}_source AS s ON t.id = s.id + 1 AND t.n > 20"
    " WHEN MATCHED THEN UPDATE SET n = t.n + s.n"
    " WHEN NOT MATCHED BY SOURCE AND t.n % 7 = 0 THEN UPDATE SET c1 = 'alone'",
    "MERGE INTO {table} AS t USING {table}_source AS s ON t.id = s.id WHEN MATCHED AND s.n > 9 THEN DELETE"
    " WHEN MATCHED AND s.n < 0 THEN UPDATE SET n = 0",
)
UPDATES = (
    "UPDATE {table} SET n = n + 100, c3 = concat(c3, n) WHERE pmod(hash(id), 10) < 4",
    "UPDATE {table} SET c5 = 'all'",
    "UPDATE {table} SET n = NULL WHERE c5 = 'all' AND id % 500 = 7",
)
WAY = "merge-on-read completed by tasks"


def create(judged: Judged, version: int, partitioning: str) -> None:
    """Three files of small row groups, with rows that are deleted by position and, in version 2, by key."""
    columns = ", ".join(f"{name} {'INT' if name in ('id', 'n') else 'STRING'}" for name in COLUMNS)
    properties = f"'format-version'='{version}', 'write.parquet.row-group-size-bytes'='20000'"
    judged.spark.sql(f"CREATE TABLE {judged.table} ({columns}) {partitioning} TBLPROPERTIES ({properties})")
    texts = ", ".join(f"concat('{name} ', id * 7919)" for name in COLUMNS[3:])
    for start in (0, 1000, 2000):
        rows = f"SELECT id, id % 50, concat('c', id % 3), {texts} FROM range({start}, {start + 1000}, 1, 1)"
        judged.spark.sql(f"INSERT INTO {judged.table} {rows}")
    judged.run("DELETE FROM {table} WHERE id % 11 = 4")
    judged.spark.sql(f"CREATE TABLE {judged.table}_source AS SELECT id * 3 AS id, id AS n FROM range(700)")


def twin_of(judged: Judged) -> Judged:
    return Judged(judged.spark, judged.iceberg, judged.warehouse, f"{judged.table}_twin")


@pytest.fixture(autouse=True)
def nothing_is_small(judged: Judged) -> Iterator[None]:
    judged.spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "1")
    with planned(judged.spark, driver_rows=10):
        yield
    judged.spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")


def explained(judged: Judged, statement: str) -> str:
    return str(judged.spark.sql(f"EXPLAIN {statement.replace('{table}', judged.table)}").collect()[0][0])


@pytest.mark.turns(2)
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("partitioning", ["", "PARTITIONED BY (c0)"], ids=["unpartitioned", "partitioned"])
def test_rows_and_counts_are_those_of_a_query(judged: Judged, version: int, partitioning: str) -> None:
    twin = twin_of(judged)
    for table in (judged, twin):
        create(table, version, partitioning)
    for merge in MERGES:
        assert WAY in explained(judged, merge)
        changed = judged.spark.sql(merge.replace("{table}", judged.table)).collect()
        with planned(judged.spark, force="merge-on-read"):
            assert judged.spark.sql(merge.replace("{table}", twin.table)).collect() == changed
        judged.check()
        assert canonical_rows(judged.spark.table(judged.table)) == canonical_rows(judged.spark.table(twin.table))
        if version == 3:
            assert lineage(judged) == lineage(twin)


@pytest.mark.turns(2)
def test_explain_tells_the_query_the_writer_and_conflicts(judged: Judged) -> None:
    create(judged, 3, "")
    told = explained(judged, MERGES[0])
    assert "written by the driver if the files that lose a row have at most 33,554,432 bytes, else tasks" in told
    assert "conflicts with commits that change or remove a row that it changes" in told
    query = told[told.index("== Physical Plan ==") :]
    assert "c3" in query
    assert "c4" not in query


@pytest.mark.turns(2)
def test_a_merge_that_only_deletes_reads_no_other_column(judged: Judged) -> None:
    create(judged, 3, "")
    for clauses in ("WHEN MATCHED AND s.n > 9 THEN DELETE", "WHEN NOT MATCHED BY SOURCE AND t.n < 9 THEN DELETE"):
        told = explained(judged, f"MERGE INTO {{table}} AS t USING {{table}}_source AS s ON t.id = s.id {clauses}")
        assert WAY not in told
        assert "written by" not in told


@pytest.mark.turns(2)
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("partitioning", ["", "PARTITIONED BY (c0)"], ids=["unpartitioned", "partitioned"])
def test_updates_give_the_rows_of_a_query(judged: Judged, version: int, partitioning: str) -> None:
    twin = twin_of(judged)
    for table in (judged, twin):
        create(table, version, partitioning)
    for update in UPDATES:
        with planned(judged.spark, force="tasks"):
            told = explained(judged, update)
            assert "written by tasks, which read columns without new values from the data files" in told
            changed = judged.spark.sql(update.replace("{table}", judged.table)).collect()
            with planned(judged.spark, completed_columns=99):
                assert judged.spark.sql(update.replace("{table}", twin.table)).collect() == changed
        judged.check()
        assert canonical_rows(judged.spark.table(judged.table)) == canonical_rows(judged.spark.table(twin.table))
        if version == 3:
            assert lineage(judged) == lineage(twin)


@pytest.mark.turns(EVERY)
def test_a_file_that_only_a_query_reads_is_read_by_one(judged: Judged) -> None:
    twin = twin_of(judged)
    for table in (judged, twin):
        create(table, 2, "")
        judged.iceberg.sql(f"ALTER TABLE {table.table} SET TBLPROPERTIES ('write.format.default'='avro')")
        judged.iceberg.sql(f"INSERT INTO {table.table} SELECT id + 5000, {', '.join(COLUMNS[1:])} FROM {table.table}")
        judged.iceberg.sql(f"ALTER TABLE {table.table} UNSET TBLPROPERTIES ('write.format.default')")
        judged.spark.sql(f"INSERT INTO {table.table}_source SELECT id + 5000, n FROM {table.table}_source")
    changed = judged.spark.sql(MERGES[0].replace("{table}", judged.table)).collect()
    with planned(judged.spark, force="merge-on-read"):
        assert judged.spark.sql(MERGES[0].replace("{table}", twin.table)).collect() == changed
    assert canonical_rows(judged.spark.table(judged.table)) == canonical_rows(judged.spark.table(twin.table))
