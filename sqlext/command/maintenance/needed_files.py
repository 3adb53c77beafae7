"""The files that a table needs: those of all its snapshots, its metadata, and of stream batches that may yet land."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress

from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.metadata_file import HINT_NAME
from sqlext.command.maintenance.snapshot_files import SnapshotFiles
from sqlext.commit.actions.staged_batch import files_of_staged, staged_query_and_batch
from sqlext.commit.actions.stream_progress import StreamProgress
from sqlext.errors import CorruptionError
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.stored_changelog import changelog_folder, changelog_id, changelog_ids
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO
from sqlext.storage.in_threads import each_below
from sqlext.storage.location import is_below, join, metadata_location


def needed_files(
    io: FileIO, table: LoadedTable, listed: Collection[str], known: Collection[Snapshot] = ()
) -> Iterator[str]:
    """Locations, possibly repeated, of the files that `table` needs. Files of the snapshots `known` are left out.

    Stored changelogs and staged batches are looked for among `listed`. Raises NotFoundError, CorruptionError or
    StorageError if what a snapshot lists cannot be read.
    """
    metadata = table.metadata
    yield table.metadata_location
    yield from (entry.metadata_file for entry in metadata.metadata_log)
    yield join(metadata_location(metadata), HINT_NAME)
    yield from metadata.statistics_files()
    yield from _of_snapshots(io, metadata, known)
    yield from _changelogs(metadata, listed)
    yield from _staged_batches(io, table, listed)


def _of_snapshots(io: FileIO, metadata: TableMetadata, known: Collection[Snapshot]) -> Iterator[str]:
    ids = {one.snapshot_id for one in known}
    reader = SnapshotFiles(io, ManifestCache(0), each_below(metadata.location))
    of_known = reader.listed([one for one in metadata.snapshots if one.snapshot_id in ids]) if ids else None
    found = reader.listed([one for one in metadata.snapshots if one.snapshot_id not in ids])
    yield from found.manifest_lists
    yield from found.manifests
    new = [one for path, one in found.manifests.items() if of_known is None or path not in of_known.manifests]
    yield from reader.live(new, metadata)


def _changelogs(metadata: TableMetadata, listed: Collection[str]) -> Iterator[str]:
    ids = changelog_ids(metadata.snapshots)
    folder = changelog_folder(metadata)
    for path in listed:
        if changelog_id(path) in ids and is_below(folder, path):
            yield path


def _staged_batches(io: FileIO, table: LoadedTable, listed: Collection[str]) -> Iterator[str]:
    """The files of batches that a stream has written and may commit when it starts again. One that is damaged is
    written anew by its stream."""
    for path in listed:
        staged = staged_query_and_batch(path)
        if staged is None or _has_landed(table.metadata, *staged):
            continue
        yield path
        if path.endswith(".json"):
            with suppress(CorruptionError, FileNotFoundError):
                yield from files_of_staged(io, table.metadata, path)


def _has_landed(metadata: TableMetadata, query_id: str, batch_id: int) -> bool:
    try:
        progress = StreamProgress.of(metadata, query_id, metadata.location)
    except CorruptionError:
        return False
    return progress is not None and progress.batch_id is not None and batch_id <= progress.batch_id
