"""What of a table is due, by the table's own rules: runs of buckets, and files of other partitions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from sqlext.command.compaction.compaction_candidates import CompactionCandidates, compacts_itself, due, everything
from sqlext.command.ddl.alter_table import alter_partitioning
from sqlext.commit.actions.bucket_change import ChangeBuckets
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.scan.sorted_runs import Bucket, find_buckets
from unit.command.lake import Lake, read

IN_BUCKETS = "CREATE TABLE t (id BIGINT, PRIMARY KEY (id)) TBLPROPERTIES ('bucket'='{}', {})"
TRIGGER = "'num-sorted-run.compaction-trigger'='3'"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def _buckets(lake: Lake) -> Sequence[Bucket]:
    return find_buckets(lake.environment.scans.live_entries(lake.target().version))


def _due(lake: Lake) -> CompactionCandidates:
    return due(lake.load().metadata, _buckets(lake), lambda: lake.environment.scans.all_tasks(lake.target().version))


def _everything(lake: Lake, *, tells: bool = False) -> CompactionCandidates:
    metadata, version = lake.load().metadata, lake.target().version
    return everything(metadata, _buckets(lake), lambda: lake.environment.scans.all_tasks(version), tells=tells)


@pytest.mark.parametrize(
    ("bucket", "write_only", "compacts"),
    [
        ("'bucket'='2'", "", True),
        ("'bucket'='2'", ", 'write-only'='true'", False),
        ("'comment'=''", "", False),
        ("'comment'=''", ", 'write-only'='false'", True),
    ],
)
def test_tables_in_buckets_compact_themselves(lake: Lake, bucket: str, write_only: str, compacts: bool) -> None:
    text = f"CREATE TABLE t (id BIGINT, PRIMARY KEY (id)) TBLPROPERTIES ({bucket}{write_only})"
    assert compacts_itself(lake.create(text).metadata) is compacts


def test_runs_of_a_bucket_are_due_at_the_trigger(lake: Lake) -> None:
    lake.create(IN_BUCKETS.format(1, TRIGGER))
    assert not _due(lake).merges
    for number in range(2):
        lake.append(id=[number])
    assert not _due(lake).merges
    lake.append(id=[2])
    (merge,) = _due(lake).merges
    assert {file.file_path for file in merge.files} == {file.file_path for file in lake.files()}
    assert merge.written_as == 1


def test_deleted_keys_are_marked_first_where_they_are_many(lake: Lake) -> None:
    lake.create(IN_BUCKETS.format(1, "'compaction.delete-file-threshold'='2'"))
    lake.append(id=[1, 2, 3])
    lake.upsert(id=[1])
    assert not _due(lake).marks
    lake.upsert(id=[2])
    assert _due(lake).marks


def test_a_bucket_of_an_earlier_number_moves_where_the_number_goes_by_itself(lake: Lake) -> None:
    for dynamic, moved in ((False, 0), (True, 1)):
        table = f"t{moved}"
        lake.create(IN_BUCKETS.format(-1 if dynamic else 1, TRIGGER).replace(" t ", f" {table} "))
        lake.append(table, id=[1])
        lake.commit(ChangeBuckets(4, dynamic=dynamic), table)
        lake.append(table, id=[1])
        metadata, version = lake.load(table).metadata, lake.target(table).version
        buckets, tasks = find_buckets(lake.environment.scans.live_entries(version)), dict
        found = due(metadata, buckets, tasks)
        assert [merge.bucket.spec_id for merge in found.merges] == [0] * moved
        # Asked for all, it moves in any case.
        every = everything(metadata, buckets, tasks, tells=False)
        assert [merge.bucket.spec_id for merge in every.merges] == [0]


def test_a_bucket_that_is_one_run_is_merged(lake: Lake) -> None:
    lake.create(IN_BUCKETS.format(1, TRIGGER))
    lake.append(id=[1])
    assert not _everything(lake).merges
    lake.append(id=[2])
    assert len(_everything(lake).merges) == 1


@pytest.mark.parametrize("producer", ["full-compaction", "lookup", "none"])
def test_changes_are_stored_by_the_producer_that_compacts(lake: Lake, producer: str) -> None:
    lake.create(IN_BUCKETS.format(1, f"'changelog-producer'='{producer}'"))
    lake.append(id=[1])
    lake.append(id=[2])
    assert _everything(lake, tells=True).tells is (producer == "full-compaction")
    assert not _everything(lake).tells


def test_small_files_of_a_partition_are_due_once_they_are_enough(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT, p STRING) PARTITIONED BY (p)")
    for number in range(5):
        lake.append(id=[number], p=["a"])
        if number < 4:
            lake.append(id=[number], p=[None])
    (merge,) = _due(lake).merges
    assert (merge.bucket.partition, len(merge.files), merge.written_as) == (("a",), 5, 1)
    assert sorted(len(merge.files) for merge in _everything(lake).merges) == [4, 5]


def test_files_of_which_many_rows_are_gone_are_due(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT)")
    lake.append(id=list(range(10)))
    lake.delete({lake.files()[0].file_path: [0]})
    assert not _due(lake).merges
    lake.delete({lake.files()[0].file_path: [1, 2]})
    assert len(_due(lake).merges) == 1


def test_rows_of_an_earlier_partitioning_move_only_when_all_is_asked_for(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT, p STRING) PARTITIONED BY (p)")
    for number in range(6):
        lake.append(id=[number], p=["a"])
    alter_partitioning(lake.environment, None, read("ALTER TABLE t DROP PARTITION FIELD p"))
    assert not _due(lake).merges
    (moved,) = _everything(lake).merges
    assert (moved.bucket.spec_id, len(moved.files)) == (0, 6)


def test_many_position_delete_files_of_format_version_2_become_fewer(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT) TBLPROPERTIES ('compaction.delete-file-threshold'='3')")
    lake.append(id=list(range(100)))
    for number in range(2):
        lake.delete({lake.files()[0].file_path: [number]})
    assert not _due(lake).merged_deletes
    lake.delete({lake.files()[0].file_path: [2]})
    assert _due(lake).merged_deletes == {(0, ())}
    assert not _due(lake).merges
    lake.commit(ChangeProperties({"format-version": "3"}))
    assert not _due(lake).merged_deletes, "the next change makes a vector of them"
