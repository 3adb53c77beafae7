"""Deletes the files of snapshots and statistics that were never committed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from sqlext.catalog.changelog_files import changelog_files
from sqlext.catalog.owned_files import own_folders
from sqlext.errors import SqlextError
from sqlext.spec.manifests.manifest import EntryStatus, decode_manifest, decode_manifest_list
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.stored_changelog import changelog_ids
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO
from sqlext.storage.location import is_below, metadata_location

ADDED_IN_PLACE = "sqlext.files-added-in-place"
"""Snapshot summary key, with the value true: the added files existed before, and belong to another snapshot or
table."""


def discard_snapshots(
    io: FileIO,
    discarded: TableMetadata,
    kept: TableMetadata | None,
    committed: Iterable[TableMetadata] = (),
    *,
    content: bool = True,
) -> None:
    """Deletes the files written for snapshots and statistics of `discarded` that `kept` does not have; failures leave
    orphan files.

    They were not committed, so no table refers to the files. Left alone are files that a snapshot added in place, files
    outside of the folders of `discarded` and `kept`, and all of a snapshot that one of the tables `committed` has: a
    table may be made of another one's snapshots. Without `content` only manifests and manifest lists are
    deleted.
    """
    there = {snapshot.snapshot_id for table in committed for snapshot in table.snapshots}
    gone = [one for one in discarded.snapshots_not_in(kept) if one.snapshot_id not in there]
    is_own = _below_own_folders([discarded] if kept is None else [discarded, kept])
    added = [path for snapshot in gone for path in _added(io, discarded, snapshot, content)]
    further = [*_changelogs(io, discarded, gone), *_statistics(discarded, kept)] if content else []
    for path in [*added, *further]:
        if is_own(path):
            with suppress(SqlextError, OSError):
                io.delete(path)


def _below_own_folders(versions: Sequence[TableMetadata]) -> Callable[[str], bool]:
    folders = dict.fromkeys(folder for version in versions for folder in own_folders(version))
    return lambda path: any(is_below(folder, path) for folder in folders)


def _changelogs(io: FileIO, metadata: TableMetadata, snapshots: Sequence[Snapshot]) -> Iterator[str]:
    ids = changelog_ids(snapshots)
    if ids:
        with suppress(SqlextError, OSError):
            yield from [file.path for id, file in changelog_files(io, metadata) if id in ids]


def _statistics(discarded: TableMetadata, kept: TableMetadata | None) -> Iterator[str]:
    """Those in the table's own metadata folder: a registered table may name others."""
    known = frozenset(() if kept is None else kept.statistics_files())
    folder = metadata_location(discarded)
    yield from (path for path in discarded.statistics_files() if path not in known and is_below(folder, path))


def _added(io: FileIO, metadata: TableMetadata, snapshot: Snapshot, content: bool) -> Iterator[str]:
    """Manifests and manifest list, with `content` also the content files; unreadable ones are skipped."""
    written = content and snapshot.summary.get(ADDED_IN_PLACE) != "true"
    try:
        manifests = decode_manifest_list(io.read(snapshot.manifest_list), snapshot.manifest_list)
        for manifest in manifests:
            if manifest.added_snapshot_id != snapshot.snapshot_id:
                continue
            entries = decode_manifest(
                io.read(manifest.path), manifest, schema=metadata.schema(), specs=metadata.specs_by_id()
            )
            for entry in entries:
                is_added = entry.status == EntryStatus.ADDED and entry.snapshot_id == snapshot.snapshot_id
                if is_added and written:
                    yield entry.file.file_path
            yield manifest.path
        yield snapshot.manifest_list
    except (SqlextError, OSError):
        return
