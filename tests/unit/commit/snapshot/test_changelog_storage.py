"""Stored changelogs: read as tables of their own, and removed when no snapshot names them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from small_tables import Writer, data_file, files_below, warehouse_catalog
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.snapshot.changelog_storage import (
    LEAST_AGE_MS,
    remove_changelog,
    remove_unneeded_changelogs,
    write_changelog_manifests,
)
from sqlext.errors import StorageError
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.stored_changelog import (
    BEGINNING,
    CHANGELOG_ID,
    CHANGELOG_PRODUCER_KEY,
    CHANGELOG_SINCE,
    FULL_COMPACTION,
    LOOKUP,
    StoredChangelog,
    changelog_folder,
    changelog_table,
    manifest_list_location,
)
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import FileStatus

FIRST, SECOND = "0f0e0d0c-0b0a-4908-8706-050403020100", "1f0e0d0c-0b0a-4908-8706-050403020100"


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(warehouse_catalog(tmp_path))


def _snapshot(metadata: TableMetadata) -> Snapshot:
    found = metadata.current_snapshot()
    assert found is not None
    return found


def _named(metadata: TableMetadata, id: str) -> TableMetadata:
    """The table whose current snapshot names a changelog."""
    snapshot = _snapshot(metadata)
    told = replace(snapshot, summary={**snapshot.summary, **StoredChangelog(id, LOOKUP).summary()})
    return replace(metadata, snapshots=(told,))


def test_a_changelog_is_a_table_of_its_own(writer: Writer) -> None:
    table = writer.append(1, base=writer.create()).table
    metadata, io = _named(table.metadata, FIRST), writer.catalog.io
    write_changelog_manifests(io, metadata, FIRST, [replace(data_file(metadata, [7]), spec_id=0, partition=())])
    log = changelog_table(metadata, _snapshot(metadata))
    cache, snapshot = ManifestCache(), _snapshot(log)
    assert snapshot.snapshot_id == _snapshot(metadata).snapshot_id
    entries = [entry for one in cache.manifests(io, snapshot) for entry in cache.live_entries(io, one, log)]
    assert [entry.file.record_count for entry in entries] == [1]
    assert [field.name for field in log.schema().fields] == [
        *(field.name for field in metadata.schema().fields),
        "_row_kind",
    ]
    assert not any(field.required for field in log.schema().fields)
    assert changelog_table(metadata).current_snapshot() is None


def test_what_no_snapshot_names_goes_after_a_day(writer: Writer, tmp_path: Path) -> None:
    table = writer.append(1, base=writer.create()).table
    metadata, io = _named(table.metadata, FIRST), writer.catalog.io
    before = files_below(tmp_path)
    for id in (FIRST, SECOND):
        write_changelog_manifests(io, metadata, id, [])
    io.create(f"{changelog_folder(metadata)}/notes.txt", b"not ours")
    written = max(file.modified_ms for file in io.list(changelog_folder(metadata)))
    assert remove_unneeded_changelogs(io, metadata, written + LEAST_AGE_MS - 10_000) == 0
    assert remove_unneeded_changelogs(io, metadata, written + LEAST_AGE_MS + 10_000) == 1
    assert io.exists(manifest_list_location(metadata, FIRST))
    remove_changelog(io, metadata, FIRST)
    assert [name.rpartition("/")[2] for name in files_below(tmp_path) - before] == ["notes.txt"]


def test_what_cannot_be_listed_stays(writer: Writer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its commit may have landed with another changelog: that is no failure of it."""
    metadata, io = writer.append(1, base=writer.create()).table.metadata, writer.catalog.io
    write_changelog_manifests(io, metadata, FIRST, [])
    before = files_below(tmp_path)

    def refuse(prefix: str) -> Iterator[FileStatus]:
        raise StorageError("STORAGE_FAILURE", operation="Listing", path=prefix, reason="refused")

    with monkeypatch.context() as patched:
        patched.setattr(io, "list", refuse)
        remove_changelog(io, metadata, FIRST)
    assert files_below(tmp_path) == before
    remove_changelog(io, metadata, FIRST)
    assert files_below(tmp_path) < before


def test_a_table_without_changelogs_has_none_to_remove(writer: Writer) -> None:
    table = writer.append(1, base=writer.create()).table
    assert remove_unneeded_changelogs(writer.catalog.io, table.metadata, 2**60) == 0


def test_purge_takes_changelogs_and_leaves_other_files(writer: Writer, tmp_path: Path) -> None:
    table = writer.commit(AppendFiles([]), base=writer.create()).table
    io, folder = writer.catalog.io, changelog_folder(table.metadata)
    write_changelog_manifests(io, table.metadata, FIRST, [])
    io.create(f"{folder}/notes.txt", b"not ours")
    assert writer.catalog.drop_table(table.identifier, purge=True)
    assert [path for path in files_below(tmp_path) if "_changelog" in path] == [
        path for path in files_below(tmp_path) if path.endswith("notes.txt")
    ]


@pytest.mark.parametrize(
    "summary",
    [
        {},
        {CHANGELOG_ID: "../../etc/passwd", CHANGELOG_PRODUCER_KEY: LOOKUP},
        {CHANGELOG_ID: f"{FIRST}/..", CHANGELOG_PRODUCER_KEY: LOOKUP},
        {CHANGELOG_ID: FIRST},
        {CHANGELOG_ID: FIRST, CHANGELOG_PRODUCER_KEY: "later"},
    ],
)
def test_a_summary_of_somebody_else_names_no_changelog(summary: dict[str, str]) -> None:
    assert StoredChangelog.of(Snapshot(1, None, 1, 0, "", summary)) is None


def test_a_summary_names_what_it_was_told() -> None:
    for stored in (StoredChangelog(FIRST, LOOKUP), StoredChangelog(FIRST, FULL_COMPACTION, (BEGINNING, 5))):
        assert StoredChangelog.of(Snapshot(1, None, 1, 0, "", stored.summary())) == stored
    odd = {**StoredChangelog(FIRST, FULL_COMPACTION, (4, 5)).summary(), CHANGELOG_SINCE: "x"}
    assert StoredChangelog.of(Snapshot(1, None, 1, 0, "", odd)) is None
