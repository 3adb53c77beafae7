"""Files of stored changelogs: writing the manifests that a snapshot's summary refers to, and removing unneeded ones."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from sqlext.catalog.changelog_files import changelog_files
from sqlext.commit.snapshot.own_files import create_own_file, delete_files
from sqlext.errors import SqlextError
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.manifest import (
    UNASSIGNED_SEQUENCE_NUMBER,
    EntryStatus,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    encode_manifest,
    encode_manifest_list,
)
from sqlext.spec.metadata.stored_changelog import (
    changelog_folder,
    changelog_ids,
    changelog_table,
    manifest_list_location,
)
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO

# A younger file may be of a changelog whose snapshot is not committed yet.
LEAST_AGE_MS = 24 * 60 * 60 * 1000
# Constants suffice: the snapshot that names a changelog has ids of its own.
_SNAPSHOT_ID = _SEQUENCE_NUMBER = 1


def write_changelog_manifests(io: FileIO, metadata: TableMetadata, id: str, files: Sequence[ContentFile]) -> None:
    """Writes the manifest and manifest list of the changelog `id`, whose data files were written for `changelog_table`.

    Raises StorageError; `remove_changelog` then removes what was written.
    """
    table = changelog_table(metadata)
    manifests = [_written_manifest(io, table, id, files)] if files else []
    listed = encode_manifest_list(
        manifests,
        snapshot_id=_SNAPSHOT_ID,
        parent_snapshot_id=None,
        sequence_number=_SEQUENCE_NUMBER,
        format_version=table.format_version,
    )
    create_own_file(io, manifest_list_location(metadata, id), listed)


def remove_changelog(io: FileIO, metadata: TableMetadata, id: str) -> None:
    """Removes the files of a changelog that no snapshot names, as far as the store allows."""
    with suppress(SqlextError, OSError):
        delete_files(io, [file.path for of, file in list(changelog_files(io, metadata)) if of == id])


def remove_unneeded_changelogs(io: FileIO, metadata: TableMetadata, now_ms: int) -> int:
    """Removes the changelogs that no snapshot names, unless they are young; returns the number of files. An engine that
    expires snapshots may not know of their changelogs. Raises StorageError."""
    needed = changelog_ids(metadata.snapshots)
    old = now_ms - LEAST_AGE_MS
    unneeded = [file.path for id, file in changelog_files(io, metadata) if id not in needed and file.modified_ms < old]
    for path in unneeded:
        io.delete(path)
    return len(unneeded)


def _written_manifest(io: FileIO, table: TableMetadata, id: str, files: Sequence[ContentFile]) -> ManifestFile:
    data = encode_manifest(
        [ManifestEntry(EntryStatus.ADDED, _SNAPSHOT_ID, None, None, file) for file in files],
        schema=table.schema(),
        spec=table.spec(),
        content=ManifestContent.DATA,
        format_version=table.format_version,
    )
    path = f"{changelog_folder(table)}/{id}-m0.avro"
    create_own_file(io, path, data)
    return ManifestFile(
        path=path,
        length=len(data),
        spec_id=table.default_spec_id,
        content=ManifestContent.DATA,
        sequence_number=UNASSIGNED_SEQUENCE_NUMBER,
        min_sequence_number=UNASSIGNED_SEQUENCE_NUMBER,
        added_snapshot_id=_SNAPSHOT_ID,
        added_files_count=len(files),
        existing_files_count=0,
        deleted_files_count=0,
        added_rows_count=sum(file.record_count for file in files),
        existing_rows_count=0,
        deleted_rows_count=0,
    )
