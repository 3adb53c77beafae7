"""Stored changelogs tell what the rows do, cost what changed, and are in nobody's way."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections import Counter
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from judges.iceberg import IcebergJudge
from session.changelogs.change_folding import changes_of, folded, require_folds, rows_at, snapshots_of
from streaming.json_stream import JsonStream

DAY_S = 24 * 60 * 60


def _folder(spark: SparkSession, table: str) -> Path:
    file = spark.sql(f"SELECT file FROM {table}.metadata_log_entries LIMIT 1").first()
    assert file is not None
    return Path(file.file.removeprefix("file://")).parents[1]


def _statements(table: str) -> list[str]:
    return [
        f"INSERT INTO {table} VALUES (1, 'a', 0.5), (2, 'b', NULL), (3, 'c', DOUBLE('NaN')), (4, NULL, -0.0)",
        f"UPDATE {table} SET v = 'B' WHERE id = 2",
        f"DELETE FROM {table} WHERE id = 3",
        f"UPSERT INTO {table} VALUES (1, 'A', 0.5), (5, 'e', 5)",
        f"ALTER TABLE {table} RENAME COLUMN v TO w",
        f"MERGE INTO {table} t USING (SELECT 4 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
        f"ALTER TABLE {table} ADD COLUMN s STRUCT<x: INT>",
        f"UPSERT INTO {table} VALUES (5, 'E', 5, named_struct('x', 1)), (6, 'f', 6, NULL)",
        f"INSERT OVERWRITE {table} VALUES (2, 'B', NULL, NULL), (7, 'g', 7, NULL)",
    ]


@pytest.mark.turns(1)
@pytest.mark.parametrize(
    ("version", "properties"),
    [
        pytest.param(2, "'write.update.mode'='copy-on-write'", marks=pytest.mark.long),
        (3, "'bucket'='2', 'write.upsert.mode'='equality'"),
    ],
)
def test_stored_changes_are_those_that_are_found(
    spark: SparkSession, table_name: str, version: int, properties: str
) -> None:
    told: list[Counter[tuple[str, str]]] = []
    for producer in ("none", "lookup"):
        table = f"{table_name}_{producer}"
        spark.sql(
            f"CREATE TABLE {table} (id INT, v STRING, d DOUBLE, PRIMARY KEY (id)) TBLPROPERTIES"
            f" ('format-version'='{version}', 'changelog-producer'='{producer}', {properties})"
        )
        for statement in _statements(table):
            spark.sql(statement)
        require_folds(spark, table)
        whole = spark.sql(f"SELECT * FROM table_changes('{table}')")
        told.append(Counter((f"{ordinal} {kind}", row) for ordinal, _, kind, row in changes_of(whole)))
        stored = spark.sql(
            f"SELECT operation, summary['sqlext.changelog-producer'] AS producer FROM {table}.snapshots"
        ).collect()
        wanted = "lookup" if producer == "lookup" else None
        assert {row.producer for row in stored if row.operation in ("overwrite", "delete")} == {wanted}
        assert {row.producer for row in stored if row.operation in ("append", "replace")} <= {None}
    assert told[0] == told[1]


def test_reading_costs_the_changes_alone(spark: SparkSession, table_name: str, iceberg: IcebergJudge) -> None:
    """No data file is needed to tell them, and no engine takes their files for rows, or for litter."""
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES"
        " ('format-version'='3', 'changelog-producer'='lookup', 'bucket'='1', 'write-only'='true')"
    )
    spark.sql(f"INSERT INTO {table_name} SELECT id, 'first' FROM range(100)")
    spark.sql(f"UPSERT INTO {table_name} VALUES (3, 'second'), (300, 'second')")
    spark.sql(f"DELETE FROM {table_name} WHERE id < 2")
    first, second, third = snapshots_of(spark, table_name)
    folder = _folder(spark, table_name)
    log = sorted(folder.glob("_changelog/*.parquet"))
    rows = ds.dataset([str(path) for path in log]).to_table().to_pylist()
    assert sorted((row["_row_kind"], row["id"], row["v"]) for row in rows) == [
        ("+I", 300, "second"), ("+U", 3, "second"), ("-D", 0, "first"), ("-D", 1, "first"), ("-U", 3, "first"),
    ]  # fmt: skip
    assert iceberg.sql(f"SELECT count(*), sum(id) FROM {table_name}") == [[99, 4950 - 1 + 300]]

    # Litter to Iceberg is what no metadata names and nobody has touched for days.
    for path in folder.rglob("*"):
        os.utime(path, (time.time() - 9 * DAY_S,) * 2)
    (folder / "data" / "litter.parquet").write_bytes(b"")
    os.utime(folder / "data" / "litter.parquet", (time.time() - 9 * DAY_S,) * 2)
    name = table_name.removeprefix("lake.")
    removed = iceberg.sql(f"CALL lake.system.remove_orphan_files(table => '{name}')")
    assert [Path(path).name for (path,) in removed] == ["litter.parquet"]

    data = [path for path in (folder / "data").rglob("*") if path.suffix in (".parquet", ".puffin")]
    aside = {path: path.rename(path.with_suffix(".aside")) for path in data}
    changes = spark.sql(f"SELECT id, v, _change_type FROM table_changes('{table_name}', {first}) ORDER BY id, v")
    assert [tuple(row) for row in changes.collect()] == [
        (0, "first", "DELETE"),
        (1, "first", "DELETE"),
        (3, "first", "UPDATE_BEFORE"),
        (3, "second", "UPDATE_AFTER"),
        (300, "second", "INSERT"),
    ]
    net = spark.sql(f"SELECT count(*) AS n FROM table_changes('{table_name}', {first}, {third}, 'net')").first()
    assert net is not None
    assert net.n == 5
    for path, moved in aside.items():
        moved.rename(path)

    iceberg.sql(f"CALL lake.system.expire_snapshots('{name}', TIMESTAMP '2099-01-01 00:00:00', 1)")
    spark.sql(f"REFRESH TABLE {table_name}")
    gone = spark.sql(f"CALL lake.system.remove_expired_changelogs('{name}')").first()
    assert gone is not None
    assert gone.removed_files_count == 3
    assert len(list(folder.glob("_changelog/*.parquet"))) == 1
    assert third in snapshots_of(spark, table_name)
    assert second not in snapshots_of(spark, table_name)


def test_a_changelog_that_was_taken_away_is_found_anew(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('changelog-producer'='lookup')")
    spark.sql(f"INSERT INTO {table_name} VALUES (1), (2)")
    spark.sql(f"DELETE FROM {table_name} WHERE id = 1")
    for path in _folder(spark, table_name).glob("_changelog/*"):
        path.unlink()
    require_folds(spark, table_name)


def test_changes_of_statements_that_race(spark: SparkSession, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES"
        " ('format-version'='3', 'changelog-producer'='lookup', 'write.conflict.max-reruns'='50')"
    )
    spark.sql(f"INSERT INTO {table_name} SELECT id, 'first' FROM range(20)")
    failures: list[BaseException] = []

    def run(statement: str) -> None:
        try:
            spark.sql(statement)
        except BaseException as failure:
            failures.append(failure)

    threads = [
        threading.Thread(target=run, args=(statement,))
        for statement in (
            f"UPSERT INTO {table_name} VALUES (1, 'one'), (30, 'one')",
            f"DELETE FROM {table_name} WHERE id IN (2, 9)",
            f"DELETE FROM {table_name} WHERE id IN (3, 10)",
        )
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [str(failure) for failure in failures] == []
    require_folds(spark, table_name)
    # One changelog for each snapshot that has one: those of attempts that were overtaken are gone.
    named = spark.sql(f"SELECT summary['sqlext.changelog'] AS id FROM {table_name}.snapshots").collect()
    lists = {path.name for path in _folder(spark, table_name).glob("_changelog/snap-*")}
    assert lists == {f"snap-{row.id}.avro" for row in named if row.id is not None}


def test_changes_in_transactions(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('changelog-producer'='lookup')")
    spark.sql(f"INSERT INTO {table_name} VALUES (1), (2), (3)")
    for end, left in (("ROLLBACK", 0), ("COMMIT", 2)):
        spark.sql("BEGIN")
        spark.sql(f"DELETE FROM {table_name} WHERE id = 1")
        spark.sql(f"UPSERT INTO {table_name} VALUES (2), (4)")
        spark.sql(end)
        assert len(list(_folder(spark, table_name).glob("_changelog/snap-*"))) == left
    require_folds(spark, table_name)


def test_a_stream_of_changes_keeps_a_copy(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    copy = f"{table_name}_copy"
    for name, properties in (
        (table_name, "'changelog-producer'='lookup', 'bucket'='1'"),
        (copy, "'format-version'='3'"),
    ):
        spark.sql(f"CREATE TABLE {name} (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ({properties})")
    for number, statement in enumerate(
        (
            f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b'), (3, 'c')",
            f"UPSERT INTO {table_name} VALUES (1, 'A'), (4, 'd')",
            f"DELETE FROM {table_name} WHERE id IN (2, 4)",
        )
    ):
        spark.sql(statement)
        if number == 1:
            continue  # the next batch is the net difference of two snapshots
        query = (
            spark.readStream.option("row-kinds", "true").table(table_name).writeStream.outputMode("update")
            .option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).toTable(copy)
        )  # fmt: skip
        query.awaitTermination()
    assert sorted(map(tuple, spark.table(copy).collect())) == [(1, "A"), (3, "c")]


@pytest.mark.parametrize("mode", ["resolved", "equality"])
def test_what_was_given_is_told_as_it_was_given(spark: SparkSession, table_name: str, mode: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES"
        f" ('changelog-producer'='input', 'write.upsert.mode'='{mode}')"
    )
    spark.sql(f"INSERT INTO {table_name} VALUES (1, 'a'), (2, 'b')")
    spark.sql(f"UPSERT INTO {table_name} VALUES (1, 'A'), (8, 'h')")
    rows = [(1, "A", "-U"), (1, "AA", "+U"), (2, "b", "-D"), (9, "i", "+I")]
    # Its rows are others whenever it is evaluated.
    given_rows = spark.createDataFrame(rows, "id INT, v STRING, _row_kind STRING")
    once = given_rows.selectExpr("id", "concat(v, cast(rand() AS STRING)) AS v", "_row_kind")
    once.writeTo(table_name).option("upsert-enabled", "true").append()
    spark.sql(f"UPDATE {table_name} SET v = 'done' WHERE id = 8")
    snapshots = snapshots_of(spark, table_name)
    changes = spark.sql(f"SELECT * FROM table_changes('{table_name}', {snapshots[0]})")
    told = sorted((row._change_ordinal, row._change_type, row.id) for row in changes.collect())
    assert told == [
        (0, "INSERT", 1),
        (0, "INSERT", 8),
        (1, "DELETE", 2),
        (1, "INSERT", 9),
        (1, "UPDATE_AFTER", 1),
        (1, "UPDATE_BEFORE", 1),
        (2, "UPDATE_AFTER", 8),
        (2, "UPDATE_BEFORE", 8),
    ]
    stored = {row.id: row.v for row in spark.table(table_name).collect()}
    given = changes.where("_change_ordinal = 1 AND _change_type IN ('INSERT', 'UPDATE_AFTER')").collect()
    assert {row.id: row.v for row in given}.items() <= stored.items()
    # The difference of two snapshots is that of their rows.
    net = spark.sql(
        f"SELECT id, _change_type FROM table_changes('{table_name}', {snapshots[0]}, {snapshots[2]}, 'net')"
    )
    assert sorted(map(tuple, net.collect())) == [
        (1, "UPDATE_AFTER"), (1, "UPDATE_BEFORE"), (2, "DELETE"), (8, "INSERT"), (9, "INSERT"),
    ]  # fmt: skip


def test_given_rows_that_are_refused_leave_nothing(spark: SparkSession, table_name: str) -> None:
    spark.sql(f"CREATE TABLE {table_name} (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('changelog-producer'='input')")
    spark.sql(f"INSERT INTO {table_name} VALUES (1)")
    with pytest.raises(Exception, match="DUPLICATE_KEY"):
        spark.sql(f"UPSERT INTO {table_name} SELECT 1 + id * 0 FROM range(2)")
    spark.sql(f"UPSERT INTO {table_name} SELECT id FROM {table_name} WHERE id > 5")
    assert not list(_folder(spark, table_name).glob("_changelog/*"))


@pytest.mark.parametrize("producer", ["input", "lookup"])
def test_a_stream_in_its_order(spark: SparkSession, table_name: str, tmp_path: Path, producer: str) -> None:
    """Several rows of a key in a batch: the last one that came counts, and all of them were given."""
    spark.sql(
        f"CREATE TABLE {table_name} (id BIGINT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES"
        f" ('changelog-producer'='{producer}', 'bucket'='1')"
    )
    changes = JsonStream(spark, tmp_path / "changes", "id BIGINT, v STRING, _row_kind STRING")
    for batch in ([("+I", 1, "a"), ("+I", 2, "b")], [("-U", 1, "a"), ("+U", 1, "x"), ("+U", 1, "y"), ("-D", 2, "b")]):
        changes.put(*({"id": id, "v": v, "_row_kind": kind} for kind, id, v in batch))
        changes.run(table_name, "update")
    assert [tuple(row) for row in spark.table(table_name).collect()] == [(1, "y")]
    last = snapshots_of(spark, table_name)[-1]
    told = spark.sql(f"SELECT * FROM {table_name}.changes WHERE _commit_snapshot_id = {last}").collect()
    assert (
        sorted((row._change_type, row.id, row.v) for row in told)
        == {
            "input": [
                ("DELETE", 2, "b"),
                ("UPDATE_AFTER", 1, "x"),
                ("UPDATE_AFTER", 1, "y"),
                ("UPDATE_BEFORE", 1, "a"),
            ],
            "lookup": [("DELETE", 2, "b"), ("UPDATE_AFTER", 1, "y"), ("UPDATE_BEFORE", 1, "a")],
        }[producer]
    )


def test_full_compactions_tell_net_changes(spark: SparkSession, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('bucket'='2',"
        " 'format-version'='3', 'changelog-producer'='full-compaction', 'full-compaction.delta-commits'='3')"
    )
    spark.sql(f"INSERT INTO {table_name} SELECT id, 'first' FROM range(10)")
    for number in range(1, 7):
        spark.sql(f"UPSERT INTO {table_name} VALUES ({number}, 'v{number}'), (0, 'w{number}')")
        if number == 3:
            spark.sql(f"DELETE FROM {table_name} WHERE id = 9")
    told = spark.sql(
        "SELECT snapshot_id, summary['sqlext.changelog-since'] AS since, summary['sqlext.changelog-until'] AS until"
        f" FROM {table_name}.snapshots WHERE summary['sqlext.changelog'] IS NOT NULL ORDER BY committed_at"
    ).collect()
    snapshots = snapshots_of(spark, table_name)
    assert told[0].since == "0"
    assert [row.until for row in told[:-1]] == [row.since for row in told[1:]]
    assert len(told) == 2
    # Each step folds to the rows at its end, whether it is one snapshot or what a compaction tells.
    changes = changes_of(spark.sql(f"SELECT * FROM table_changes('{table_name}')"))
    rows: Counter[str] = Counter()
    for end in [snapshot for snapshot in snapshots if any(of == snapshot for _, of, _, _ in changes)]:
        rows = folded(rows, [(kind, row) for _, of, kind, row in changes if of == end])
        assert rows == rows_at(spark, table_name, end)
    assert rows == rows_at(spark, table_name, snapshots[-1])
    assert {int(row.until) for row in told} <= {of for _, of, _, _ in changes}
    # Between any two snapshots it is the difference of their rows.
    for start, end in ((0, -1), (1, 4), (int(told[0].until), int(told[1].until))):
        first, last = (one if one in snapshots else snapshots[one] for one in (start, end))
        net = changes_of(spark.sql(f"SELECT * FROM table_changes('{table_name}', {first}, {last}, 'net')"))
        expected = folded(rows_at(spark, table_name, first), [(kind, row) for _, _, kind, row in net])
        assert expected == rows_at(spark, table_name, last)


def _told_commits(spark: SparkSession, table: str) -> list[int]:
    """After how many commits each full compaction of the table came."""
    rows = spark.sql(
        f"SELECT operation, summary['sqlext.changelog-until'] AS until FROM {table}.snapshots ORDER BY committed_at"
    ).collect()
    commits = itertools.accumulate(row.operation != "replace" for row in rows)
    return [number for number, row in zip(commits, rows, strict=True) if row.until is not None]


def _require_told_in_all(spark: SparkSession, table: str) -> None:
    """The whole feed folds to the table."""
    changes = changes_of(spark.sql(f"SELECT * FROM table_changes('{table}')"))
    whole = folded(Counter(), [(kind, row) for _, _, kind, row in changes])
    assert whole == rows_at(spark, table, snapshots_of(spark, table)[-1])


def test_the_interval_of_full_compactions(spark: SparkSession, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('bucket'='1',"
        " 'changelog-producer'='full-compaction', 'changelog-producer.compaction-interval'='1 h')"
    )
    for number in range(3):
        spark.sql(f"UPSERT INTO {table_name} VALUES (9), ({number})")
    assert _told_commits(spark, table_name) == []
    spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('changelog-producer.compaction-interval'='1 ms')")
    spark.sql(f"UPSERT INTO {table_name} VALUES (3), (9)")
    assert _told_commits(spark, table_name) == [4]
    _require_told_in_all(spark, table_name)


def test_the_interval_is_commits_in_a_stream(spark: SparkSession, table_name: str, tmp_path: Path) -> None:
    """Any of these batches takes longer than the whole interval, which yet holds two of them."""
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, v STRING, PRIMARY KEY (id)) TBLPROPERTIES ('bucket'='1',"
        " 'changelog-producer'='full-compaction', 'changelog-producer.compaction-interval'='21 ms')"
    )
    stream = JsonStream(spark, tmp_path, "id INT, v STRING")
    for number in range(5):
        stream.put({"id": 0, "v": f"{number}"}, {"id": number, "v": "own"} if number else {"id": 9, "v": "own"})
    writer = stream.frame().writeStream.outputMode("update").option("checkpointLocation", str(stream.checkpoint))
    query = writer.trigger(processingTime="10 milliseconds").toTable(table_name)
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    assert _told_commits(spark, table_name) == [2, 4]
    _require_told_in_all(spark, table_name)


def test_a_compaction_job_tells_the_changes(spark: SparkSession, table_name: str) -> None:
    spark.sql(
        f"CREATE TABLE {table_name} (id INT, PRIMARY KEY (id)) TBLPROPERTIES ('bucket'='1', 'write-only'='true',"
        " 'changelog-producer'='full-compaction')"
    )
    for id in (1, 2, 3):
        spark.sql(f"UPSERT INTO {table_name} VALUES ({id}), (0)")
    assert not list(_folder(spark, table_name).glob("_changelog/*"))
    spark.sql(f"CALL lake.system.compact('{table_name.removeprefix('lake.')}', full => true)")
    rows = spark.sql(f"SELECT id, _change_type, _change_ordinal FROM {table_name}.changes ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [(id, "INSERT", 0) for id in (0, 1, 2, 3)]


def test_producers_that_cannot_do_their_work_are_refused(spark: SparkSession, table_name: str) -> None:
    def create(columns: str, properties: str) -> None:
        spark.sql(f"CREATE TABLE {table_name} ({columns}) TBLPROPERTIES ({properties})")

    for columns, properties, reason in (
        ("id INT", "'changelog-producer'='lookup'", "no primary key"),
        ("id INT, PRIMARY KEY (id)", "'changelog-producer'='full-compaction'", "only tables in buckets"),
        ("id INT, PRIMARY KEY (id)", "'changelog-producer'='later'", "must be one of none, input, lookup"),
        ("id INT, PRIMARY KEY (id)", "'changelog-producer.lookup-wait'='false'", "lookup-wait = false is refused"),
        (
            "id INT, PRIMARY KEY (id)",
            "'changelog-producer'='lookup', 'full-compaction.delta-commits'='3'",
            "goes with changelog-producer = full-compaction",
        ),
        (
            "id INT, PRIMARY KEY (id)",
            "'changelog-producer'='lookup', 'changelog-producer.compaction-interval'='1 h'",
            "compaction-interval goes with changelog-producer = full-compaction",
        ),
        ("id INT", "'changelog-producer.compaction-interval'='soon'", "a number with a unit"),
    ):
        with pytest.raises(AnalysisException, match=reason):
            create(columns, properties)
    create("id INT, PRIMARY KEY (id)", "'changelog-producer'='lookup'")
    with pytest.raises(AnalysisException, match="INVALID_CHANGELOG_PRODUCER"):
        spark.sql(f"ALTER TABLE {table_name} SET TBLPROPERTIES ('changelog-producer'='full-compaction')")
    with pytest.raises(AnalysisException, match="INVALID_CHANGELOG_PRODUCER"):
        spark.sql(f"ALTER TABLE {table_name} DROP IDENTIFIER FIELDS id")
