"""Copy-on-write: all engines read the rows, and snapshots and row ids are those that Iceberg's own runtime makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interchange.tables.test_row_lineage import lineage
from judges.canonical import canonical_rows
from judges.judged import Judged
from sessions import planned
from sqlext.command.change import copied_by_query, copied_by_tasks
from turns import EVERY

MODES = ", ".join(f"'write.{verb}.mode'='copy-on-write'" for verb in ("delete", "update", "merge"))
FIRST = "(1, 'a', 1.50), (2, 'b', NULL), (3, NULL, -3.25)"
SECOND = "(4, 'a', 4.00), (5, 'c', 0.01), (6, 'a', 6.00)"
STATEMENTS = (
    "DELETE FROM {table} WHERE id IN (2, 4) OR amount < -100",
    "UPDATE {table} SET amount = coalesce(amount, 0) + 1, kind = 'moved' WHERE id = 5",
    "MERGE INTO {table} AS t USING (SELECT * FROM VALUES (1, 'd'), (3, 'u'), (20, 'n') AS s(id, op)) AS s"
    " ON t.id = s.id WHEN MATCHED AND s.op = 'd' THEN DELETE WHEN MATCHED THEN UPDATE SET kind = s.op"
    " WHEN NOT MATCHED THEN INSERT (id, kind) VALUES (s.id, s.op)",
    "UPDATE {table} SET kind = kind WHERE id = 1000",
)
COUNTERS = ("operation", "added-data-files", "deleted-data-files", "added-records", "deleted-records", "total-records")


def create(judged: Judged, version: int, partitioning: str = "") -> None:
    judged.run_in_iceberg(
        f"CREATE TABLE {{table}} (id INT, kind STRING, amount DECIMAL(9,2)) USING iceberg {partitioning}"
        f" TBLPROPERTIES ('format-version'='{version}', {MODES})"
    )
    for rows in (FIRST, SECOND):
        judged.run_in_iceberg(f"INSERT INTO {{table}} SELECT /*+ COALESCE(1) */ * FROM VALUES {rows} AS v")


def last_snapshot(judged: Judged) -> dict[str, Any]:
    snapshot = judged.spark.table(f"{judged.table}.snapshots").orderBy("committed_at").tail(1)[0]
    return {name: {**snapshot.summary, "operation": snapshot.operation}.get(name) for name in COUNTERS}


@pytest.mark.turns(2)
@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("partitioning", ["", "PARTITIONED BY (kind)"], ids=["unpartitioned", "partitioned"])
def test_snapshots_are_those_of_iceberg(judged: Judged, version: int, partitioning: str) -> None:
    twin = Judged(judged.spark, judged.iceberg, judged.warehouse, f"{judged.table}_twin")
    for table in (judged, twin):
        create(table, version, partitioning)
    for statement in STATEMENTS:
        judged.run(statement)
        twin.run_in_iceberg(statement)
        assert canonical_rows(judged.spark.table(judged.table)) == canonical_rows(judged.spark.table(twin.table))
        if statement != STATEMENTS[-1]:  # one that changes nothing makes no snapshot here
            assert last_snapshot(judged) == last_snapshot(twin)
        if version == 3:
            kept, theirs = lineage(judged), lineage(twin)
            assert {id: one for id, one in kept.items() if id < 20} == {
                id: one for id, one in theirs.items() if id < 20
            }
    assert judged.spark.table(f"{judged.table}.delete_files").count() == 0


@pytest.mark.parametrize("statement", [*STATEMENTS[:3], "DELETE FROM {table} WHERE id % 7 = 3"])
def test_files_of_one_number_are_told_apart_by_their_paths(
    judged: Judged, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    """All have one number if there is only one, and equal positions; and deleted positions are sent to tasks or not."""

    def changed(properties: str) -> list[list[Any]]:
        run = judged.spark.sql
        run(f"DROP TABLE IF EXISTS {judged.table}")
        run(f"CREATE TABLE {judged.table} (id INT, kind STRING, amount DECIMAL(9,2)) TBLPROPERTIES ({properties})")
        for start in (0, 10, 20):
            rows = f"SELECT id, 'k', id FROM range({start}, {start + 10}, 1, 1)"
            run(f"INSERT INTO {judged.table} {rows}")
        run(statement.format(table=judged.table))
        return canonical_rows(judged.spark.table(judged.table))

    expected = changed("'format-version'='2'")
    for paths, broadcast in ((2**27, 2_000_000), (1, 2_000_000), (1, 0)):
        monkeypatch.setattr(copied_by_query, "_PATHS", paths)
        with planned(judged.spark, broadcast_positions=broadcast, force="copy-by-query"):
            assert changed(MODES) == expected
        assert judged.spark.table(f"{judged.table}.delete_files").count() == 0


@pytest.mark.turns(EVERY)
@pytest.mark.parametrize(
    "statement", ["DELETE FROM {table} WHERE id = 5", "UPDATE {table} SET kind = 'u' WHERE id = 5"]
)
def test_a_file_that_tasks_read_in_parts_becomes_one_file(judged: Judged, statement: str) -> None:
    run, size = judged.spark.sql, "spark.sql.files.maxPartitionBytes"
    properties = f"{MODES}, 'write.parquet.row-group-size-bytes'='65536'"
    run(f"CREATE TABLE {judged.table} (id BIGINT, kind STRING) TBLPROPERTIES ({properties})")
    run(f"INSERT INTO {judged.table} SELECT id, concat('of ', id * 7919) FROM range(0, 100000, 1, 1)")
    before = judged.spark.table(f"{judged.table}.files").collect()
    judged.spark.conf.set(size, "100000")
    try:
        assert judged.spark.table(judged.table).rdd.getNumPartitions() > 2
        run(statement.format(table=judged.table))
    finally:
        judged.spark.conf.unset(size)
    after = judged.spark.table(f"{judged.table}.files").collect()
    assert [len(before), len(after)] == [1, 1]
    assert before[0].file_path != after[0].file_path
    ids = [row.id for row in judged.spark.table(judged.table).select("id").collect()]
    assert ids == sorted(ids)


def test_deletes_of_other_ways_are_superseded(judged: Judged) -> None:
    """Files with position deletes, vectors and equality deletes are rewritten; deletes that others need stay."""
    judged.run(
        "CREATE TABLE {table} (id INT, kind STRING, amount DECIMAL(9,2), PRIMARY KEY (id))"
        " TBLPROPERTIES ('write.upsert.mode'='equality')"
    )
    judged.run(f"INSERT INTO {{table}} VALUES {FIRST}")
    judged.run(f"INSERT INTO {{table}} VALUES {SECOND}")
    upsert = (
        "MERGE INTO {table} AS t USING (SELECT * FROM VALUES (1, 'A', NULL), (4, 'D', 9.00) AS v(id, kind, amount))"
        " AS s"
        " ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    judged.run(upsert)
    judged.run("DELETE FROM {table} WHERE id = 2")
    judged.run(f"ALTER TABLE {{table}} SET TBLPROPERTIES ({MODES})")
    judged.run("UPDATE {table} SET kind = 'third' WHERE id = 3")
    rows = [[1, "A", None], [3, "third", "-3.25"], [4, "D", "9.00"], [5, "c", "0.01"], [6, "a", "6.00"]]
    assert [
        [row.id, row.kind, row.amount and str(row.amount)]
        for row in judged.spark.table(judged.table).sort("id").collect()
    ] == rows
    judged.run("ALTER TABLE {table} SET TBLPROPERTIES ('format-version'='3')")
    judged.run("DELETE FROM {table} WHERE id = 6")
    assert judged.count() == 4


def test_sorted_tables_stay_sorted_and_rows_of_a_file_together(judged: Judged) -> None:
    judged.run(f"CREATE TABLE {{table}} (id INT, kind STRING) TBLPROPERTIES ({MODES})")
    for start in (0, 100, 200):
        judged.run(f"INSERT INTO {{table}} SELECT CAST(id AS INT), 'x' FROM range({start}, {start + 100}, 1, 1)")
    judged.run("DELETE FROM {table} WHERE id % 10 = 3 AND id > 100")
    bounds = "SELECT readable_metrics.id.lower_bound, readable_metrics.id.upper_bound FROM {table}.files ORDER BY 1"
    files = judged.spark.sql(bounds.replace("{table}", judged.table)).collect()
    assert next(tuple(row) for row in files) == (0, 99)
    judged.run("ALTER TABLE {table} WRITE ORDERED BY id DESC")
    judged.run("UPDATE {table} SET kind = 'y' WHERE id IN (120, 250)")
    for row in judged.spark.table(f"{judged.table}.files").where("sort_order_id > 0").collect():
        ids = [one.id for one in judged.spark.read.parquet(row.file_path).collect()]
        assert ids == sorted(ids, reverse=True)


def test_only_the_files_that_hold_changed_rows_are_read_again(judged: Judged) -> None:
    judged.run(f"CREATE TABLE {{table}} (id INT, kind STRING) TBLPROPERTIES ({MODES})")
    for id in (1, 2):
        judged.run(f"INSERT INTO {{table}} SELECT CAST({id} AS INT), 'x' FROM range(3)")
    path = judged.spark.sql(f"SELECT DISTINCT _file FROM {judged.table} WHERE id = 2").first()[0]
    scan = judged.spark.table(judged.table).select("id", "_file").where(f"_file = '{path}'")
    assert len(scan.inputFiles()) <= 1
    assert scan.rdd.getNumPartitions() == 1
    assert [row.id for row in scan.collect()] == [2, 2, 2]


def test_a_sorted_table_keeps_its_order(judged: Judged) -> None:
    """Tasks copy a sorted file row by row; if its sort columns get new values, a query puts the rows in order."""
    run = judged.spark.sql
    run(f"CREATE TABLE {judged.table} (id INT, kind STRING, n INT) TBLPROPERTIES ({MODES})")
    run(f"ALTER TABLE {judged.table} WRITE ORDERED BY kind, id")
    for start in (0, 50):
        run(f"INSERT INTO {judged.table} SELECT id, concat('k', id % 3), id FROM range({start}, {start + 50}, 1, 1)")
    for assigned, told in (("n = -n", "copy-on-write: "), ("kind = 'k1'", "copy-on-write by a query: ")):
        text = f"UPDATE {judged.table} SET {assigned} WHERE id % 10 = 4"
        assert run(f"EXPLAIN {text}").first()[0].splitlines()[1].startswith(told)
        judged.run(text.replace(judged.table, "{table}"))
        files = run(f"SELECT file_path, sort_order_id FROM {judged.table}.files").collect()
        assert {file.sort_order_id for file in files} == {1}
        for file in files:
            rows = run(f"SELECT kind, id FROM {judged.table} WHERE _file = '{file.file_path}'").collect()
            assert rows == sorted(rows)
        judged.run("DELETE FROM {table} WHERE id % 10 = 5")
    found = run(f"SELECT kind, id, n FROM {judged.table} WHERE id < 16").collect()
    kept = [id for id in range(16) if id % 10 != 5]
    assert sorted(found) == sorted(
        ("k1" if id % 10 == 4 else f"k{id % 3}", id, -id if id % 10 == 4 else id) for id in kept
    )


def test_files_that_no_task_reads_are_copied_by_a_query(judged: Judged, tmp_path: Path) -> None:
    """They have no field ids, which only execution tells."""
    run = judged.spark.sql
    run("SELECT CAST(id AS INT) AS id, 'k' AS kind, CAST(id AS INT) AS n FROM range(0, 20, 1, 2)").write.parquet(
        str(tmp_path / "given")
    )
    run(f"CREATE TABLE {judged.table} (id INT, kind STRING, n INT) TBLPROPERTIES ({MODES})")
    run(f"INSERT INTO {judged.table} VALUES (100, 'own', 100)")
    catalog, _, name = judged.table.partition(".")
    run(f"CALL {catalog}.system.add_files(table => '{name}', source_table => 'parquet.`{tmp_path / 'given'}`')")
    judged.run("UPDATE {table} SET n = n + 1 WHERE id > 15")
    judged.run("DELETE FROM {table} WHERE id = 3 OR id = 100")
    rows = run(f"SELECT id, kind, n FROM {judged.table} ORDER BY id").collect()
    assert rows == [(id, "k", id + 1 if id > 15 else id) for id in range(20) if id != 3]


def test_each_task_gets_the_rows_that_are_meant_for_it(judged: Judged) -> None:
    for tasks in (1, 2, 7, 64):
        values = ", ".join(f"({value})" for value in copied_by_tasks._values_of_tasks(tasks))
        rows = judged.spark.sql(f"SELECT pmod(hash(v), {tasks}) FROM VALUES {values} AS t(v)").collect()
        assert [row[0] for row in rows] == list(range(tasks))
