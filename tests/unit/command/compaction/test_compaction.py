"""Compactions of small tables, which need no query: what is committed, beside commits of others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from small_tables import summary_of
from sqlext.command.change.row_level import DeletedRowsWriter, Target
from sqlext.command.compaction.compaction import Compacted, compact_table
from sqlext.command.compaction.equality_delete_conversion import convert_to_position_deletes
from sqlext.command.compaction.rewritten_parts import Part, rewrite_parts
from sqlext.command.write_operation import begin_write
from sqlext.commit.actions.compaction import RewriteFiles
from sqlext.commit.actions.delete_file_rewrite import RewriteDeleteFiles
from sqlext.commit.actions.reference_change import CreateReference
from sqlext.commit.rules.bucket_layout import bucket_count
from sqlext.errors import StaleRead
from sqlext.spec.expression import AlwaysTrue, Comparison, Predicate
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.metadata.stored_changelog import StoredChangelog
from sqlext.storage.file_io import LocalFileIO
from unit.command.lake import Lake, name

IN_BUCKETS = (
    "CREATE TABLE t (id BIGINT, s STRING, PRIMARY KEY (id))"
    " TBLPROPERTIES ('bucket'='{}', 'num-sorted-run.compaction-trigger'='3', {})"
)
VERSION_2, VERSION_3 = "'format-version'='2'", "'format-version'='3'"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def _compacted(lake: Lake, branch: str = "main", **given: object) -> Compacted:
    return compact_table(lake.environment, None, name(), branch, **given)


@pytest.mark.parametrize("version", [VERSION_2, VERSION_3])
def test_due_runs_become_one_with_the_same_rows(lake: Lake, version: str) -> None:
    lake.create(IN_BUCKETS.format(1, version))
    lake.append(id=[3, 4], s=["a", None])
    lake.append(id=[1], s=["b"])
    assert _compacted(lake) == Compacted()
    lake.upsert(id=[4, 9], s=["c", "c"])
    before, size = lake.rows(), sum(file.file_size_in_bytes for file in lake.files())
    assert _compacted(lake) == Compacted(1, 3, 1, size)
    assert lake.rows() == before == [(1, "b"), (3, "a"), (4, "c"), (9, "c")]
    (task,) = lake.tasks()
    assert not task.has_equality_deletes
    snapshot = lake.load().metadata.current_snapshot()
    assert snapshot is not None
    assert snapshot.operation == "replace"
    assert _compacted(lake) == Compacted()


def test_an_empty_table_and_one_that_is_compact_are_left_alone(lake: Lake) -> None:
    lake.create(IN_BUCKETS.format(2, VERSION_2))
    assert _compacted(lake, full=True) == Compacted()
    lake.append(id=[1, 2, 3])
    head = lake.load().metadata.current_snapshot_id
    assert _compacted(lake, full=True) == Compacted()
    assert lake.load().metadata.current_snapshot_id == head


def test_all_files_of_a_table_without_buckets_by_partition(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT, p STRING) PARTITIONED BY (p)")
    for number in range(3):
        lake.append(id=[number, 10 + number], p=["a", None])
    assert _compacted(lake) == Compacted(), "three files are not enough"
    done = _compacted(lake, full=True)
    assert (done.buckets, done.replaced_files, done.added_files) == (2, 6, 2)
    assert len(lake.rows()) == 6


def test_only_the_partitions_that_a_condition_chooses(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT, p STRING) PARTITIONED BY (p)")
    for number in range(3):
        lake.append(id=[number, 10 + number], p=["a", "b"])
    done = _compacted(lake, full=True, chosen=lambda target: Comparison("=", 2, "b"))
    assert (done.buckets, done.replaced_files) == (1, 3)
    assert sorted(file.partition for file in lake.files()) == [("a",)] * 3 + [("b",)]


def test_a_branch_is_compacted_by_itself(lake: Lake) -> None:
    lake.create(IN_BUCKETS.format(1, VERSION_2))
    lake.append(id=[1])
    lake.commit(CreateReference("audit", "branch", None))
    lake.append("t", "branch_audit", id=[2])
    main = lake.load().metadata.current_snapshot_id
    assert _compacted(lake, "audit", full=True).replaced_files == 2
    assert lake.load().metadata.current_snapshot_id == main


@pytest.mark.parametrize("version", [VERSION_2, VERSION_3])
def test_rows_that_others_delete_meanwhile_stay_deleted(lake: Lake, version: str) -> None:
    lake.create(f"CREATE TABLE t (id BIGINT) TBLPROPERTIES ({version})")
    lake.append(id=[1, 2])
    lake.append(id=[3])
    looks = 0

    def chosen(target: Target) -> Predicate:
        nonlocal looks
        looks += 1
        if looks == 1:
            lake.delete({lake.files()[0].file_path: [1]})
        return AlwaysTrue()

    done = _compacted(lake, full=True, chosen=chosen)
    assert lake.rows() == [(1,), (3,)]
    assert (done.replaced_files, done.added_files, done.given_up) == (3, 2, 0), "a second time for the new delete"


def test_it_gives_up_where_others_replace_its_files(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT)")
    lake.append(id=[1])
    lake.append(id=[9])

    def chosen(target: Target) -> Predicate:
        first = lake.files()[0]
        lake.commit(RewriteFiles([first], *_copied(lake, first)))
        return AlwaysTrue()

    done = _compacted(lake, full=True, chosen=chosen)
    assert (done.replaced_files, done.given_up) == (0, 1)
    assert lake.rows() == [(1,), (9,)]


def _copied(lake: Lake, file: ContentFile) -> tuple[Any, ...]:
    """What replaces a file by another one with the same rows."""
    target = lake.target()
    snapshot = target.version.snapshot
    assert snapshot is not None
    operation = begin_write(target.table.metadata, target.version.io, "t", lake.environment.rng)
    rewritten = rewrite_parts(lake.environment, None, target, operation, [Part(frozenset({file.file_path}))], None)
    assert rewritten is not None
    number, writer = snapshot.sequence_number, DeletedRowsWriter(operation)
    return rewritten.files, number, snapshot.snapshot_id, rewritten.origins, writer


def test_buckets_grow_with_the_rows_and_rows_move(lake: Lake) -> None:
    lake.create(IN_BUCKETS.format(-1, "'dynamic-bucket.target-row-num'='10'"))
    lake.append(id=list(range(10)))
    assert _compacted(lake) == Compacted()
    assert bucket_count(lake.load().metadata) == 1
    lake.append(id=list(range(100, 115)))
    done = _compacted(lake)
    assert bucket_count(lake.load().metadata) == 4, "25 rows, 10 in each"
    assert (done.replaced_files, done.added_files) == (2, 4)
    assert [row[0] for row in sorted(lake.rows())] == [*range(10), *range(100, 115)]
    assert {file.spec_id for file in lake.files()} == {lake.load().metadata.default_spec_id}
    assert len({file.partition for file in lake.files()}) == 4


def test_deleted_keys_are_marked_before_runs_are_merged(lake: Lake) -> None:
    lake.create(IN_BUCKETS.format(1, "'compaction.delete-file-threshold'='2'"))
    lake.append(id=list(range(50)), s=["x"] * 50)
    for number in (1, 2):
        lake.upsert(id=[number], s=["y"])
    assert summary_of(lake.load())["total-equality-deletes"] == "2"
    before = lake.rows()
    _compacted(lake)
    assert lake.rows() == before
    assert summary_of(lake.load())["total-equality-deletes"] == "0"


class _Overtaken(LocalFileIO):
    """Something happens when the next data file is opened to be written."""

    happens: Callable[[], object] | None = None

    def open_output(self, location: str) -> BinaryIO:
        if self.happens is not None and "-deletes" not in location:
            self.happens, happens = None, self.happens
            happens()
        return super().open_output(location)


@pytest.mark.parametrize("version", [VERSION_2, VERSION_3])
def test_delete_files_that_another_compaction_replaces_meanwhile_are_left_to_it(tmp_path: Path, version: str) -> None:
    io = _Overtaken()
    lake = Lake(tmp_path, io)
    lake.create(IN_BUCKETS.format(1, version))
    lake.append(id=list(range(50)), s=["x"] * 50)
    for number in (1, 2):
        lake.upsert(id=[number], s=["y"])
    before = lake.rows()
    io.happens = lambda: convert_to_position_deletes(lake.environment, lake.target())
    assert _compacted(lake, full=True).buckets == 1
    assert io.happens is None
    assert lake.rows() == before
    assert summary_of(lake.load())["total-equality-deletes"] == "0"


def test_a_removal_of_a_file_that_is_gone_may_be_tried_anew(lake: Lake) -> None:
    """As two conversions of one table remove deletes of which no row is left."""
    lake.create(IN_BUCKETS.format(1, VERSION_3))
    lake.upsert(id=[1], s=["y"])
    target = lake.target()
    snapshot = target.version.snapshot
    assert snapshot is not None
    entries = lake.environment.scans.live_entries(target.version)
    dead = [entry.file for entry in entries if entry.file.content == Content.EQUALITY_DELETES]
    removal = RewriteDeleteFiles(dead, snapshot.snapshot_id)
    lake.environment.commit("lake", target.table, removal, target.destination)
    with pytest.raises(StaleRead, match="another commit removed the file"):
        lake.environment.commit("lake", target.table, removal, target.destination)


def test_changes_are_stored_with_the_last_merge(lake: Lake) -> None:
    lake.create(IN_BUCKETS.format(1, "'changelog-producer'='full-compaction'"))
    lake.append(id=[1])
    lake.append(id=[2])
    until = lake.load().metadata.current_snapshot_id
    _compacted(lake, full=True)
    head = lake.load().metadata.current_snapshot()
    assert head is not None
    stored = StoredChangelog.of(head)
    assert stored is not None
    assert stored.span == (0, until)
