"""Rewriting manifests: what stays of every entry, which manifests are rewritten, and races with other writers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyroaring import BitMap64

from small_tables import (
    BY_REGION,
    InterruptedIO,
    Writer,
    data_file,
    files_below,
    ids_read_by_pyiceberg,
    no_space_for,
    position_deletes,
    rows_of,
    summary_of,
    warehouse_catalog,
)
from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.action import Action, Destination
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.manifest_rewrite import RewriteManifests
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.reference_change import CreateReference
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.actions.spec_change import AddField, ChangeSpec, FieldTerm
from sqlext.commit.snapshot.deletion_vectors import DeletedRows
from sqlext.errors import StorageError
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.manifests.manifest import EntryStatus, ManifestContent, ManifestEntry, ManifestFile
from sqlext.spec.transform import BucketTransform
from sqlext.storage.file_io import LocalFileIO

REGIONS = ("eu", "us", "asia", "uk")


def manifests(table: LoadedTable) -> tuple[ManifestFile, ...]:
    snapshot = table.metadata.current_snapshot()
    return () if snapshot is None else ManifestCache().manifests(LocalFileIO(), snapshot)


def entries(table: LoadedTable, *, live: bool = True) -> list[ManifestEntry]:
    cache, io = ManifestCache(), LocalFileIO()
    return [
        entry
        for manifest in manifests(table)
        for entry in cache.entries(io, manifest, table.metadata)
        if entry.is_live or not live
    ]


def origins(table: LoadedTable) -> dict[str, Any]:
    """What every live entry has to keep, by path and offset: all but its status."""
    return {repr(one.file.key): replace(one, status=EntryStatus.EXISTING) for one in entries(table)}


def totals(table: LoadedTable) -> dict[str, str]:
    return {name: value for name, value in summary_of(table).items() if name.startswith("total-")}


class Shop:
    """A table of twelve appends, of which every third has rows in each region, and the files."""

    def __init__(self, folder: Path, version: int = 2, **properties: str) -> None:
        self.folder = folder
        self.writer = Writer(warehouse_catalog(folder), seed=1)
        self.other = Writer(warehouse_catalog(folder), seed=2)
        self.table = self.writer.create(spec=BY_REGION, format_version=version, properties=properties)
        self.files = []
        for number in range(12):
            file = data_file(self.table.metadata, [number, number + 100], REGIONS[number % 4])
            self.files.append(file)
            self.commit(AppendFiles((file,)))

    def commit(self, action: Action) -> LoadedTable:
        self.table = self.writer.commit(action, base=self.table).table
        return self.table

    def head(self) -> int:
        head = self.table.metadata.current_snapshot_id
        assert head is not None
        return head

    def delete_from(self, number: int) -> LoadedTable:
        """Deletes the first row of a file, by a file of positions or a vector."""
        file = self.files[number]
        if self.table.metadata.format_version < 3:
            marks = position_deletes(self.table.metadata, file, [0])
            paths = frozenset({file.file_path})
            return self.commit(RowDelta((), (marks,), paths, base_snapshot_id=self.head()))
        rows = {file.file_path: DeletedRows(0, file.partition, BitMap64([0]))}
        return self.commit(RowDelta((), (), frozenset(rows), base_snapshot_id=self.head(), deleted_rows=rows))

    def remove(self, *numbers: int, writer: Writer | None = None) -> LoadedTable:
        """Removes files from the newest version of the table."""
        table = (writer or self.writer).load()
        gone = tuple(self.files[number] for number in numbers)
        action = OverwriteFiles(deleted_files=gone, base_snapshot_id=table.metadata.current_snapshot_id)
        return (writer or self.writer).commit(action, base=table).table


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_entry_stays_what_it_is(tmp_path: Path, version: int) -> None:
    shop = Shop(tmp_path, version)
    if version > 1:
        for number in (0, 3, 6):
            shop.delete_from(number)
    before, rows = shop.table, sorted(rows_of(shop.table), key=repr)
    listed = len(manifests(before))
    table = shop.commit(RewriteManifests(0))
    assert origins(table) == origins(before)
    assert {entry.status for entry in entries(table)} == {EntryStatus.EXISTING}
    assert [one.content for one in manifests(table)] == [*ManifestContent][: 1 if version == 1 else 2]
    assert sorted(rows_of(table), key=repr) == rows
    assert ids_read_by_pyiceberg(table) == sorted(row["id"] for row in rows)
    assert totals(table) == totals(before)
    told = {name: value for name, value in summary_of(table).items() if "manifests" in name or "entries" in name}
    assert told == {
        "manifests-created": str(len(manifests(table))),
        "manifests-kept": "0",
        "manifests-replaced": str(listed),
        "entries-processed": str(len(entries(before))),
    }
    assert summary_of(table)["operation"] == "replace"
    assert not {name for name in summary_of(table) if name.startswith(("added-", "deleted-", "removed-"))}
    assert table.metadata.next_row_id == before.metadata.next_row_id
    assert min(one.min_sequence_number for one in manifests(table)) == (0 if version == 1 else 1)


def test_rows_keep_their_ids_in_a_merged_manifest_of_ids_that_were_inherited_and_stated(tmp_path: Path) -> None:
    shop = Shop(tmp_path, 3, **{"commit.manifest.min-count-to-merge": "5"})
    shop.remove(2)
    shop.table = shop.writer.load()
    before = shop.table
    table = shop.commit(RewriteManifests(0))
    assert origins(table) == origins(before)
    snapshot = table.metadata.current_snapshot()
    assert snapshot is not None
    assert (snapshot.first_row_id, snapshot.added_rows) == (before.metadata.next_row_id, 0)
    after = shop.writer.append(999, base=table).table
    ids = {path: entry.file.first_row_id for path, entry in origins(after).items()}
    assert {path: ids[path] for path in origins(before)} == {
        path: entry.file.first_row_id for path, entry in origins(before).items()
    }
    assert max(id for id in ids.values() if id is not None) == before.metadata.next_row_id


@pytest.mark.parametrize("version", [1, 2])
def test_files_of_an_upgraded_table_get_their_row_ids(tmp_path: Path, version: int) -> None:
    shop = Shop(tmp_path, version)
    shop.commit(ChangeProperties({"format-version": "3"}))
    table = shop.commit(RewriteManifests(0))
    ids = sorted(entry.file.first_row_id for entry in entries(table))  # type: ignore[type-var]
    assert ids == list(range(0, 24, 2))
    assert table.metadata.next_row_id == 24
    assert len(manifests(table)) == 1


def test_a_table_with_nothing_to_rewrite_gets_no_snapshot(tmp_path: Path) -> None:
    writer = Writer(warehouse_catalog(tmp_path))
    table = writer.create()
    for _ in range(2):
        outcome = writer.commit(RewriteManifests(0), base=table)
        assert outcome.snapshot is None
        assert outcome.table.metadata_location == table.metadata_location
        table = writer.append(1, base=table).table


def test_a_rewritten_table_is_not_rewritten_again(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.delete_from(0)
    shop.delete_from(1)
    table = shop.commit(RewriteManifests(0))
    files = files_below(tmp_path)
    assert shop.writer.commit(RewriteManifests(0), base=table).snapshot is None
    assert files_below(tmp_path) == files


def test_data_and_delete_manifests_are_rewritten_each_on_their_own(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.delete_from(0)
    (deletes,) = (one for one in manifests(shop.table) if one.content == ManifestContent.DELETES)
    table = shop.commit(RewriteManifests(0))
    assert deletes in manifests(table)
    assert summary_of(table)["manifests-kept"] == "1"
    shop.delete_from(1)
    data = manifests(table)[0]
    table = shop.commit(RewriteManifests(0))
    assert data in manifests(table)
    assert summary_of(table)["manifests-replaced"] == "2"


def test_entries_of_deleted_files_are_dropped(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.table = shop.remove(2, 5)
    assert len(entries(shop.table, live=False)) == 12
    table = shop.commit(RewriteManifests(0))
    assert len(entries(table, live=False)) == 10
    shop.table = shop.remove(0, 1, 3, 4, 6, 7, 8, 9, 10, 11)
    # One manifest that is small enough stays, whatever it holds, as in Iceberg.
    assert shop.writer.commit(RewriteManifests(0), base=shop.table).snapshot is None


def test_manifests_of_deleted_files_alone_leave_none(tmp_path: Path) -> None:
    shop = Shop(tmp_path, **{"commit.manifest-merge.enabled": "false"})
    shop.table = shop.remove(*range(12))
    assert len(manifests(shop.table)) == 12
    table = shop.commit(RewriteManifests(0))
    assert manifests(table) == ()
    assert (summary_of(table)["manifests-created"], summary_of(table)["manifests-replaced"]) == ("0", "12")
    assert rows_of(table) == []


def test_only_manifests_of_the_spec_are_rewritten(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.commit(ChangeSpec((AddField(FieldTerm(("id",), BucketTransform(4))),)))
    for number in range(2):
        file = replace(data_file(shop.table.metadata, [number + 200]), partition=("eu", number))
        shop.commit(AppendFiles((file,)))
    before = shop.table
    table = shop.commit(RewriteManifests(1))
    assert [one.spec_id for one in manifests(table)] == [1, *(12 * [0])]
    assert (summary_of(table)["manifests-kept"], summary_of(table)["manifests-replaced"]) == ("12", "2")
    table = shop.commit(RewriteManifests(0))
    assert [one.spec_id for one in manifests(table)] == [0, 1]
    assert origins(table) == origins(before)
    assert shop.writer.commit(RewriteManifests(7), base=table).snapshot is None


def test_sort_by_names_the_fields_that_entries_are_sorted_by(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.commit(ChangeSpec((AddField(FieldTerm(("id",), BucketTransform(4))),)))
    for region, bucket in ((None, 3), ("us", 1), ("eu", 2), ("eu", None), ("asia", 1)):
        file = replace(data_file(shop.table.metadata, [300]), partition=(region, bucket))
        shop.commit(AppendFiles((file,)))
    found = {}
    for fields in ((), ("region",), ("id_bucket_4",), ("id_bucket_4", "region")):
        branch = Destination(f"by {fields}")
        table = shop.writer.commit(RewriteManifests(1, fields), base=shop.writer.load(), destination=branch).table
        head = table.metadata.head(branch.branch)
        assert head is not None
        (listed, *_) = ManifestCache().manifests(LocalFileIO(), head)
        of_manifest = ManifestCache().entries(LocalFileIO(), listed, table.metadata)
        found[fields] = [entry.file.partition for entry in of_manifest]
    by_all = [(None, 3), ("asia", 1), ("eu", None), ("eu", 2), ("us", 1)]
    assert found[()] == found["region",][:2] + by_all[2:] == by_all
    assert [region for region, _ in found["region",]] == [None, "asia", "eu", "eu", "us"]
    assert [bucket for _, bucket in found["id_bucket_4",]] == [None, 1, 1, 2, 3]
    assert found["id_bucket_4", "region"] == [("eu", None), ("asia", 1), ("us", 1), ("eu", 2), (None, 3)]


def test_manifests_are_divided_by_size_and_partition(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    size = sum(one.length for one in manifests(shop.table))
    shop.commit(ChangeProperties({"commit.manifest.target-size-bytes": str(size // 4 + 1)}))
    table = shop.commit(RewriteManifests(0))
    assert len(manifests(table)) == 4
    bounds = []
    for one in manifests(table):
        assert one.partitions is not None
        bounds.append((one.partitions[0].lower_bound, one.partitions[0].upper_bound))
    assert bounds == [(region.encode(), region.encode()) for region in sorted(REGIONS)]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_what_another_commit_appends_stays(tmp_path: Path, version: int) -> None:
    shop = Shop(tmp_path, version)
    appended = shop.other.append(500, region="us").table
    outcome = shop.writer.commit(RewriteManifests(0), base=shop.table)
    assert outcome.attempts == 2
    assert origins(outcome.table) == origins(appended)
    # The manifest of the first attempt serves the second.
    assert summary_of(outcome.table)["manifests-kept"] == "1"
    assert summary_of(outcome.table)["manifests-replaced"] == "12"
    assert ids_read_by_pyiceberg(outcome.table) == sorted([*range(12), *range(100, 112), 500])
    assert_no_litter(shop, outcome.table)


def assert_no_litter(shop: Shop, table: LoadedTable) -> None:
    """Every manifest and manifest list below the table is of one of its snapshots."""
    cache, io = ManifestCache(), LocalFileIO()
    known = {one.manifest_list for one in table.metadata.snapshots}
    known |= {one.path for snapshot in table.metadata.snapshots for one in cache.manifests(io, snapshot)}
    names = {path.rpartition("/")[2] for path in known}
    found = {path.rpartition("/")[2] for path in files_below(shop.folder) if path.endswith(".avro")}
    assert found == names


def removal(shop: Shop) -> LoadedTable:
    return shop.remove(3, writer=shop.other)


def rewrite(shop: Shop) -> LoadedTable:
    return shop.other.commit(RewriteManifests(0), base=shop.other.load()).table


def rewrite_and_append(shop: Shop) -> LoadedTable:
    rewrite(shop)
    return shop.other.append(500).table


def upgrade(shop: Shop) -> LoadedTable:
    return shop.other.commit(ChangeProperties({"format-version": "3"}), base=shop.other.load()).table


@pytest.mark.parametrize("change", [removal, rewrite, rewrite_and_append, upgrade])
def test_manifests_that_another_commit_replaced_do_not_come_back(
    tmp_path: Path, change: Callable[[Shop], LoadedTable]
) -> None:
    shop = Shop(tmp_path)
    changed = change(shop)
    outcome = shop.writer.commit(RewriteManifests(0), base=shop.table)
    assert {path: one.sequence_number for path, one in origins(outcome.table).items()} == {
        path: one.sequence_number for path, one in origins(changed).items()
    }
    assert sorted(rows_of(outcome.table), key=repr) == sorted(rows_of(changed), key=repr)
    assert (outcome.snapshot is None) == (change is rewrite)
    assert_no_litter(shop, outcome.table)


def test_another_branch_stays_as_it_is(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.commit(CreateReference("b", "branch"))
    before = shop.writer.append(7, base=shop.table, destination=Destination("b")).table
    head = before.metadata.head("b")
    table = shop.writer.commit(RewriteManifests(0), base=before).table
    assert table.metadata.head("b") == head
    on_branch = shop.writer.commit(RewriteManifests(0), base=table, destination=Destination("b")).table
    assert on_branch.metadata.current_snapshot() == table.metadata.current_snapshot()
    assert on_branch.metadata.head("b") != head


def test_a_rewrite_that_fails_leaves_no_file(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    files = files_below(tmp_path)
    full = Writer(warehouse_catalog(tmp_path, no_space_for("/snap-")), seed=3)
    with pytest.raises(StorageError, match="No space left"):
        full.commit(RewriteManifests(0), base=shop.table)
    assert files_below(tmp_path) == files


def test_a_rewrite_loses_to_a_commit_between_its_manifests_and_its_swap(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    raced: list[str] = []

    def race(location: str, create: Callable[[], None]) -> None:
        if location.endswith(".metadata.json") and not raced:
            raced.append(location)
            removal(shop)
        create()

    racer = Writer(warehouse_catalog(tmp_path, InterruptedIO(race)), seed=3)
    outcome = racer.commit(RewriteManifests(0), base=shop.table)
    assert outcome.attempts == 2
    assert shop.files[3].file_path not in {entry.file.file_path for entry in entries(outcome.table)}
    assert summary_of(outcome.table)["entries-processed"] == "11"
    assert_no_litter(shop, outcome.table)
