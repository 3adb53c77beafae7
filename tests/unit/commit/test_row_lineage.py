"""Which row ids a commit gives to files (spec: Row Lineage), also on retries, in merged manifests, after an upgrade."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import fastavro
import pytest

from small_tables import BY_REGION, ORDERS, Writer, data_file, ids_read_by_pyiceberg, warehouse_catalog
from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.errors import AnalysisError
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.manifests.manifest import ManifestEntry, encode_manifest_list
from sqlext.storage.location import to_local_path

SHARED = ManifestCache()


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(warehouse_catalog(tmp_path))


def entries(writer: Writer, table: LoadedTable, cache: ManifestCache = SHARED) -> list[ManifestEntry]:
    """Of the current snapshot, live ones; through one cache, as a session has it."""
    snapshot = table.metadata.current_snapshot()
    assert snapshot is not None
    manifests = cache.manifests(writer.catalog.io, snapshot)
    return [e for one in manifests for e in cache.live_entries(writer.catalog.io, one, table.metadata)]


def row_ids(writer: Writer, table: LoadedTable) -> dict[str, int | None]:
    """The first row id of every file, by path."""
    return {entry.file.file_path: entry.file.first_row_id for entry in entries(writer, table)}


def require_disjoint(writer: Writer, table: LoadedTable) -> None:
    """No two files share an id, and all lie below the next id of the table."""
    ranges = sorted((e.file.first_row_id or 0, e.file.record_count) for e in entries(writer, table))
    ends = [first + count for first, count in ranges]
    assert all(end <= first for end, (first, _) in zip(ends, ranges[1:], strict=False))
    assert max(ends) <= (table.metadata.next_row_id or 0)


def test_appends_give_ids_in_the_order_of_commits(writer: Writer) -> None:
    table = writer.append(1, 2, 3, base=writer.create(format_version=3)).table
    table = writer.append(4, 5, base=table).table
    snapshots = [(one.first_row_id, one.added_rows) for one in table.metadata.snapshots]
    assert snapshots == [(0, 3), (3, 2)]
    assert table.metadata.next_row_id == 5
    assert sorted(row_ids(writer, table).values()) == [0, 3]  # type: ignore[type-var]
    assert ids_read_by_pyiceberg(table) == [1, 2, 3, 4, 5]


def test_the_first_row_id_of_a_new_file_is_left_to_its_manifest(writer: Writer) -> None:
    """So that a retry can use the manifest; fastavro shows what is written."""
    table = writer.append(1, base=writer.create(format_version=3)).table
    snapshot = table.metadata.current_snapshot()
    assert snapshot is not None
    with open(to_local_path(snapshot.manifest_list), "rb") as file:
        reader = fastavro.reader(file)
        assert reader.metadata["first-row-id"] == "0"
        (manifest,) = reader
    assert manifest["first_row_id"] == 0
    with open(to_local_path(manifest["manifest_path"]), "rb") as file:
        (entry,) = fastavro.reader(file)
    assert entry["data_file"]["first_row_id"] is None


def test_a_lost_race_gets_other_ids(tmp_path: Path, writer: Writer) -> None:
    base = writer.create(format_version=3)
    Writer(warehouse_catalog(tmp_path), seed=2).append(1, 2)
    outcome = writer.append(3, base=base)
    assert outcome.attempts == 2
    assert [(one.first_row_id, one.added_rows) for one in outcome.table.metadata.snapshots] == [(0, 2), (2, 1)]
    require_disjoint(writer, outcome.table)


def test_merged_and_rewritten_manifests_keep_the_ids_of_their_files(writer: Writer) -> None:
    properties = {"commit.manifest.min-count-to-merge": "2"}
    table = writer.create(format_version=3, properties=properties)
    known: dict[str, int | None] = {}
    for number in range(4):
        table = writer.append(number, number + 10, base=table).table
        now = row_ids(writer, table)
        assert known.items() <= now.items()
        known = now
        require_disjoint(writer, table)
    gone = next(entry.file for entry in entries(writer, table) if entry.file.first_row_id == 0)
    action = OverwriteFiles(
        (data_file(table.metadata, [0]),),
        deleted_files=(gone,),
        base_snapshot_id=table.metadata.current_snapshot_id,
    )
    table = writer.commit(action, base=table).table
    del known[gone.file_path]
    assert known.items() <= row_ids(writer, table).items()
    require_disjoint(writer, table)


@pytest.mark.parametrize("version", [1, 2])
def test_an_upgraded_table_gives_ids_to_the_files_it_has(tmp_path: Path, writer: Writer, version: int) -> None:
    table = writer.append(1, 2, base=writer.create(format_version=version)).table
    table = writer.append(3, base=table).table
    upgrade = ChangeProperties({"format-version": "3"})
    table = writer.commit(upgrade, base=table).table
    assert table.metadata.format_version == 3
    assert "format-version" not in table.metadata.properties
    assert set(row_ids(writer, table).values()) == {None}
    before = table
    table = writer.append(4, base=table).table
    assert None not in row_ids(writer, table).values()
    require_disjoint(writer, table)
    later = Writer(warehouse_catalog(tmp_path), seed=2).append(5, base=before)
    assert row_ids(writer, table).items() <= row_ids(writer, later.table).items()
    require_disjoint(writer, later.table)
    assert ids_read_by_pyiceberg(later.table) == [1, 2, 3, 4, 5]
    assert [one.first_row_id for one in later.table.metadata.snapshots] == [None, None, 0, 4]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_snapshot_that_lists_its_manifests_itself(writer: Writer, version: int) -> None:
    """As the first writers of version 1 left it: neither counts nor partitions are told."""
    table = writer.append(1, 2, base=writer.create(format_version=1, spec=BY_REGION)).table
    snapshot = table.metadata.current_snapshot()
    assert snapshot is not None
    paths = tuple(one.path for one in ManifestCache().manifests(writer.catalog.io, snapshot))
    old = replace(snapshot, manifest_list="", embedded_manifests=paths)
    table = writer.catalog.commit(ORDERS, table, replace(table.metadata, snapshots=(old,)))
    table = writer.commit(ChangeProperties({"format-version": str(version)}), base=table).table
    table = writer.append(3, region="us", base=table).table
    head = table.metadata.current_snapshot()
    assert head is not None
    manifests = ManifestCache().manifests(writer.catalog.io, head)
    assert [(one.added_rows_count, len(one.partitions)) for one in manifests] == [(1, 1), (2, 1)]
    assert [entry.file.partition for entry in entries(writer, table)] == [("us",), ("eu",)]
    if version == 3:
        require_disjoint(writer, table)


def test_ids_that_another_commit_gave_between_two_attempts_stay(tmp_path: Path, writer: Writer) -> None:
    """The manifests are merged in both attempts: those of the first have no ids for the old files."""
    table = writer.create(format_version=2, properties={"commit.manifest.min-count-to-merge": "2"})
    table = writer.append(1, 2, base=table).table
    base = writer.commit(ChangeProperties({"format-version": "3"}), base=table).table
    other = Writer(warehouse_catalog(tmp_path), seed=2).append(3, base=base).table
    outcome = writer.append(4, base=base)
    assert outcome.attempts == 2
    assert row_ids(writer, other).items() <= row_ids(writer, outcome.table).items()
    require_disjoint(writer, outcome.table)


def test_an_upgrade_between_two_attempts(tmp_path: Path, writer: Writer) -> None:
    base = writer.append(1, base=writer.create(format_version=2)).table
    Writer(warehouse_catalog(tmp_path), seed=2).commit(ChangeProperties({"format-version": "3"}), base=base)
    outcome = writer.commit(AppendFiles((data_file(base.metadata, [2]),)), base=base)
    assert outcome.attempts == 2
    assert outcome.table.metadata.format_version == 3
    require_disjoint(writer, outcome.table)
    assert ids_read_by_pyiceberg(outcome.table) == [1, 2]


def test_versions_only_rise(writer: Writer) -> None:
    table = writer.create(format_version=2)
    with pytest.raises(AnalysisError) as refused:
        writer.commit(ChangeProperties({"format-version": "1"}), base=table)
    assert refused.value.condition == "FORMAT_VERSION_DOWNGRADE"
    with pytest.raises(AnalysisError) as refused:
        writer.commit(ChangeProperties({"format-version": "two"}), base=table)
    assert refused.value.condition == "INVALID_TABLE_PROPERTY"
    assert writer.commit(ChangeProperties({"format-version": "2"}), base=table).table == table


@pytest.mark.parametrize("rows", [0, 1, -1, 1000])
def test_counts_of_a_manifest_list_give_no_row_id_twice(tmp_path: Path, writer: Writer, rows: int) -> None:
    """Whatever another writer's list says of the rows of its manifests in a table that is upgraded."""
    table = writer.append(3, base=writer.append(1, 2, base=writer.create(format_version=2)).table).table
    snapshot = table.metadata.current_snapshot()
    assert snapshot is not None
    listed = ManifestCache().manifests(writer.catalog.io, snapshot)
    wrong = [replace(one, added_rows_count=rows, existing_rows_count=0) for one in listed]
    data = encode_manifest_list(
        wrong,
        snapshot_id=snapshot.snapshot_id,
        parent_snapshot_id=snapshot.parent_snapshot_id,
        sequence_number=snapshot.sequence_number,
        format_version=2,
    )
    Path(to_local_path(snapshot.manifest_list)).write_bytes(data)
    other = Writer(warehouse_catalog(tmp_path), seed=2)
    table = other.commit(ChangeProperties({"format-version": "3"}), base=table).table
    table = other.append(4, 5, base=table).table
    require_disjoint(other, table)
    assert table.metadata.next_row_id == 5
