"""The facts of a table, from its metadata and manifests."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sqlext.command.ddl.alter_table import alter_partitioning
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.reference_change import CreateReference
from sqlext.description.described_table import contents, describe_table, history
from sqlext.description.table_facts import CareTask, Check, Column, Description, bytes_told, key_told
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.metadata_tables.health import measures
from sqlext.scan.metadata_tables.metadata_table import TableState
from unit.command.lake import Lake, read


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def state(lake: Lake, table: str = "t") -> TableState:
    loaded = lake.load(table)
    snapshot = loaded.metadata.current_snapshot()
    return TableState(lake.catalog.io, loaded.metadata, loaded.metadata_location, snapshot, ManifestCache())


def described(lake: Lake, table: str = "t", commits: int = 20) -> Description:
    return describe_table(f"lake.db.{table}", lake.catalog, lake.load(table), state(lake, table), lake.clock(), commits)


def test_columns_have_key_nullability_types_and_comments(lake: Lake) -> None:
    lake.create(
        "CREATE TABLE t (id BIGINT NOT NULL COMMENT 'the ''id''', code VARCHAR(5), s STRUCT<a: INT NOT NULL, b: DATE>,"
        " PRIMARY KEY (id) NOT ENFORCED) PARTITIONED BY (bucket(2, id)) COMMENT 'a table'"
    )
    found = described(lake)
    assert found.columns[0] == Column("id", "BIGINT", in_key=True, required=True, comment="the 'id'")
    assert [one.type for one in found.columns[1:]] == ["VARCHAR(5)", "STRUCT<`a`: INT NOT NULL, `b`: DATE>"]
    assert (found.key, found.key_is_enforced, found.comment) == (("id",), False, "a table")
    assert found.partitioned_by == ("bucket(2, `id`)",)
    assert key_told(found) == "id (not enforced: writers must see to it)"


def test_checks_are_constraints_and_no_settings(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT)")
    lake.commit(ChangeProperties({"sqlext.check.positive": "id > 0", "comment": "c"}, frozenset()))
    found = described(lake)
    assert found.checks == (Check("positive", "id > 0"),)
    assert not {"sqlext.check.positive", "comment"} & {one.name for one in found.settings}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_contents_are_those_of_the_metadata_table_health(lake: Lake, version: int) -> None:
    lake.create(f"CREATE TABLE t (id BIGINT, PRIMARY KEY (id)) TBLPROPERTIES ('format-version'='{version}')")
    assert described(lake).contents.sizes == ()
    lake.append(id=list(range(100)))
    if version > 1:
        lake.append(id=[200, 201])
        lake.upsert(id=[7])
        lake.delete({lake.files()[0].file_path: [1, 2]})
    found = contents(state(lake))
    told = {one.name: one.value for one in measures(state(lake))}
    assert found.data_files == told["data files"]
    assert found.stored_rows == told["rows in data files"]
    assert found.dead_rows == told["rows deleted by position"] == (2 if version > 1 else 0)
    assert found.deleted_keys == told["keys deleted by equality"]
    assert found.manifests == told["manifests"]
    assert sum(one.files for one in found.sizes) == found.data_files
    assert sum(one.bytes for one in found.sizes) == found.bytes
    assert all(one.least < one.below for one in found.sizes)
    assert found.dead_is_bound is (version == 2)


def test_care_that_has_nothing_to_do_takes_no_bytes(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT, PRIMARY KEY (id))")
    for id in range(3):
        found = described(lake).care
        assert all(one.bytes in (0, None) for one in found if one.count == 0)
        lake.append(id=[id])
    assert any(one.bytes for one in described(lake).care if one.count)


def test_history_tells_rows_in_and_out_of_each_kind_of_commit(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT, PRIMARY KEY (id)) TBLPROPERTIES ('format-version'='3')")
    lake.append(id=[1, 2, 3])
    lake.delete({lake.files()[0].file_path: [0]})
    lake.delete({lake.files()[0].file_path: [1]})
    lake.upsert(id=[3])
    newest, *_ = found = history(lake.load().metadata)
    # The second vector of the file has both rows, and only one is newly deleted.
    assert [(one.rows_in, one.rows_out, one.keys_out) for one in found] == [(1, 0, 1), (0, 1, 0), (0, 1, 0), (3, 0, 0)]
    assert [one.what for one in found] == ["changed rows", "deleted rows", "deleted rows", "added rows"]
    assert newest.references == ("main",)
    assert newest.by.startswith("sqlext ")
    assert len(history(lake.load().metadata, 2)) == 2


def test_commits_of_other_engines_are_told_by_their_summaries(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT)")
    metadata = lake.append(id=[1]).metadata
    first = metadata.snapshots[0]
    spark = {
        "operation": "append",
        "spark.app.id": "local-1",
        "engine-name": "spark",
        "engine-version": "4.1.0",
        "iceberg-version": "Apache Iceberg 1.12",
    }
    for summary, by, rows in (
        (spark, "spark 4.1.0 (local-1)", None),
        ({"operation": "append", "added-records": "5"}, "", 5),
        ({"operation": "append", "added-records": "x", "changed-partition-count": "1"}, "", 0),
        ({}, "", None),
    ):
        (told,) = history(replace(metadata, snapshots=(replace(first, summary=summary),)))
        assert (told.by, told.rows_in) == (by, rows)


def test_snapshots_outside_of_main_are_told(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT)")
    lake.append(id=[1])
    lake.commit(CreateReference("b", "branch"))
    lake.append("t", "branch_b", id=[2])
    newest, first = history(lake.load().metadata)
    assert (newest.is_ancestor, newest.references) == (False, ("b",))
    assert (first.is_ancestor, first.references) == (True, ("main",))
    assert [(one.name, one.kind) for one in described(lake).references] == [("b", "branch"), ("main", "branch")]


def test_a_partitioning_that_changed_is_the_current_one(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT, day DATE) PARTITIONED BY (months(day))")
    lake.append(id=[1], day=[0])
    alter_partitioning(lake.environment, None, read("ALTER TABLE t REPLACE PARTITION FIELD months(day) WITH days(day)"))
    assert described(lake).partitioned_by == ("days(`day`)",)
    assert described(lake).contents.partitions == 1


def test_a_description_survives_json(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT, PRIMARY KEY (id)) TBLPROPERTIES ('write-only'='false')")
    for number in range(3):
        lake.append(id=[number])
    found = described(lake, commits=2)
    assert Description.from_json(json.loads(json.dumps(found.to_json()))) == found
    assert (len(found.commits), found.commit_count) == (2, 3)
    assert {one.name for one in found.care} >= {"compaction that is due", "full compaction"}


def test_what_care_counts_is_told(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT, PRIMARY KEY (id)) TBLPROPERTIES ('write-only'='false')")
    lake.append(id=[1])
    assert {one.name: one.counted.split()[-1].rstrip("s") for one in described(lake).care} == {
        "compaction that is due": "file",
        "full compaction": "file",
        "manifests more than needed": "manifest",
        "snapshots that have expired": "snapshot",
    }
    assert CareTask("full compaction", 1, 2, None).counted == "1 file"
    assert CareTask("snapshots that have expired", None, None, None).counted == ""


@pytest.mark.parametrize(
    ("size", "told"),
    [(None, ""), (0, "0 bytes"), (1, "1 byte"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (2**60, "1024 PiB")],
)
def test_sizes_in_words(size: int | None, told: str) -> None:
    assert bytes_told(size) == told
