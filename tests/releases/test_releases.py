"""What each release wrote is read by this version as by that one, changed, and continued."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from golden_tables.canonical import canonical_rows
from releases.moved import unpack
from releases.write import TABLES, answers, catalogs, names, run_streams
from sqlext import procedures

ARCHIVES = sorted(Path(__file__).parent.glob("*.zip"))
INSERTED = ("INSERT", "UPDATE_AFTER")
KEYED = {"orders": "value", "vectors": "v", "equality": "v", "buckets": "v", "logged": "v"}
"""Tables with a key `id`, and a column of text of each."""


@dataclass(frozen=True)
class Release:
    """Its catalogs, where they are now, and what its queries answered."""

    spark: SparkSession
    folder: Path
    lake: str
    base: str
    answers: list[dict[str, Any]]

    def table(self, name: str) -> str:
        return f"{self.lake}.db.{name}"

    def rows(self, query: str) -> list[list[Any]]:
        return canonical_rows(row.asDict(recursive=True).values() for row in self.spark.sql(query).collect())

    def faults(self) -> list[Any]:
        """What fsck finds, but for totals of bytes: to move an archive makes its delete files anew."""
        checked = (f"CALL {catalog}.system.fsck(check => 'files')" for catalog in (self.lake, self.base))
        found = (row for call in checked for row in self.spark.sql(call).collect())
        return [row for row in found if row.severity != "notice" and not row.found.startswith("total-files-size")]


@pytest.fixture(scope="module", params=ARCHIVES, ids=[path.stem for path in ARCHIVES])
def release(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Release:
    archive: Path = request.param
    folder = tmp_path_factory.mktemp("release").resolve() / "moved"
    index = unpack(archive, folder, tmp_path_factory.mktemp("packed"))
    for name, value in catalogs(archive.stem, folder).items():
        spark.conf.set(name, value)
    return Release(spark, folder, **names(archive.stem), answers=index["answers"])


def test_all_queries_answer_as_they_did(release: Release) -> None:
    found = answers(release.spark, [told["query"] for told in release.answers])
    for told, now in zip(release.answers, json.loads(json.dumps(found)), strict=True):
        assert now == told
    assert any(told["rows"] for told in release.answers)


def test_nothing_is_wrong_with_its_tables(release: Release) -> None:
    assert release.faults() == []


@pytest.mark.parametrize("name", KEYED)
def test_its_tables_are_changed(release: Release, name: str) -> None:
    """Each row is where it should be after changes by key and by condition, a full compaction, and an expiry."""
    spark, table, text = release.spark, release.table(name), KEYED[name]
    rest = {row["id"]: row.asDict(recursive=True) for row in spark.table(table).collect()}
    words = {id: row[text] for id, row in rest.items()}
    merged, updated, deleted = sorted(rest)[0], sorted(rest)[-2], sorted(rest)[-1]
    newest = spark.sql(f"SELECT snapshot_id FROM {table}.refs WHERE name = 'main'").collect()[0].snapshot_id
    source = f"(SELECT * FROM VALUES ({merged}, 'merged'), (1000, 'new') AS s (id, word))"
    spark.sql(
        f"MERGE INTO {table} AS t USING {source} AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET {text} = s.word"
        f" WHEN NOT MATCHED THEN INSERT (id, {text}) VALUES (s.id, s.word)"
    )
    rest[merged][text] = "merged"
    spark.sql(f"UPDATE {table} SET {text} = 'updated' WHERE id = {updated}")
    rest[updated][text] = "updated"
    spark.sql(f"DELETE FROM {table} WHERE id = {deleted}")
    del rest[deleted]

    def found() -> dict[int, Any]:
        return {row["id"]: row.asDict(recursive=True) for row in spark.table(table).collect()}

    after = found()
    assert after.pop(1000)[text] == "new"
    assert after == rest
    changes = spark.sql(f"SELECT * FROM table_changes('{table}', {newest})").collect()
    for change in sorted(changes, key=lambda row: (row._change_ordinal, row._change_type in INSERTED)):
        if change._change_type in INSERTED:
            words[change.id] = change[text]
        else:
            assert words.pop(change.id) == change[text]
    assert words == {id: row[text] for id, row in found().items()}
    spark.sql(f"UPSERT INTO {table} (id, {text}) VALUES (1000, 'upserted')")
    spark.sql(f"CALL {release.lake}.system.compact('db.{name}', full => true)")
    spark.sql(f"CALL {release.lake}.system.expire_snapshots('db.{name}', now(), retain_last => 1)")
    after = found()
    assert after.pop(1000)[text] == "upserted"
    assert after == rest


def test_rules_of_its_tables_hold(release: Release) -> None:
    orders, sums, plain = release.table("orders"), release.table("sums"), release.table("plain")
    with pytest.raises(PySparkException) as refused:
        release.spark.sql(f"UPDATE {orders} SET amount = -1 WHERE amount > 2")
    assert refused.value.getCondition() == "CHECK_CONSTRAINT_VIOLATION"
    release.spark.sql(f"UPSERT INTO {sums} VALUES ('a', 100, 'late', 0), ('b', 5, 'newer', 9)")
    assert release.rows(f"SELECT k, total, latest FROM {sums}") == [["a", 111, "z"], ["b", 7, "newer"]]
    release.spark.sql(f"DELETE FROM {plain} WHERE id = 7")
    assert sorted(row.id for row in release.spark.table(plain).collect()) == [0, 1, 2, 3, 5, 6, 8]
    assert release.spark.table(f"{orders}.branch_draft").where("id < 10").count() == 0


def test_row_ids_stay(release: Release) -> None:
    told = next(one for one in release.answers if "_row_id" in one["query"])
    before = {id: row_id for id, row_id, _ in told["rows"]}
    now = {row.id: row._row_id for row in release.spark.sql(told["query"]).collect()}
    assert {id: now[id] for id in now.keys() & before.keys()} == {id: before[id] for id in now.keys() & before.keys()}
    assert len(now.keys() & before.keys()) > 10


def test_its_database_is_changed(release: Release) -> None:
    table = f"{release.base}.db.t"
    release.spark.sql(f"UPSERT INTO {table} VALUES (1, 'upserted'), (3, 'new')")
    assert release.rows(f"SELECT * FROM {table}") == [[1, "upserted"], [2, "c"], [3, "new"]]
    release.spark.sql(f"ALTER TABLE {table} RENAME TO {release.base}.db.renamed")
    assert release.rows(f"SELECT * FROM {release.base}.db.renamed") == [[1, "upserted"], [2, "c"], [3, "new"]]


def test_its_streams_go_on(release: Release) -> None:
    """Also from a batch that had landed before its checkpoint noted it: it is not written again."""
    for checkpoint in (release.folder / "checkpoints").iterdir():
        newest = max((checkpoint / "commits").iterdir(), key=lambda path: int(path.name))
        newest.unlink()
    before = {name: release.spark.table(release.table(name)).count() for name in ("totals", "landed")}
    release.spark.sql(f"INSERT INTO {release.table('events')} VALUES (2, 'continued'), (77, 'continued')")
    (release.folder / "landing" / "continued.json").write_text('{"id": 77}\n')
    run_streams(release.spark, release.folder, release.lake)
    totals = {row.id: row.kind for row in release.spark.table(release.table("totals")).collect()}
    assert totals[2] == totals[77] == "continued"
    assert len(totals) == before["totals"] + 1 == release.spark.table(release.table("totals")).count()
    events = release.table("events")
    head = release.spark.sql(f"SELECT snapshot_id FROM {events}.refs WHERE name = 'main'").collect()[0].snapshot_id
    positions = {row.consumer_id: row.snapshot_id for row in procedures.consumers(release.spark, events).collect()}
    assert positions["audit"] == head
    landed = sorted(row.id for row in release.spark.table(release.table("landed")).collect())
    assert landed == [*range(before["landed"]), 77]


def test_nothing_is_wrong_after_all_of_it(release: Release) -> None:
    assert release.faults() == []
    assert {row.tableName for row in release.spark.sql(f"SHOW TABLES IN {release.lake}.db").collect()} >= set(TABLES)
