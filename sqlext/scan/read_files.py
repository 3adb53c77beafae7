"""How many files a scan reads, of how many, without a look into them: counts for EXPLAIN."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.scan.files.manifest_cache import ManifestCache, data_file_count
from sqlext.scan.filter.file_filter import FileFilter
from sqlext.scan.scan_plan import applied_deletes, matching_manifests, scan_schema
from sqlext.spec.expression import Predicate
from sqlext.spec.manifests.manifest import ManifestContent
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO


@dataclass(frozen=True, slots=True)
class ReadFiles:
    """The `files` of `of_files` data files that may have a matching row, with their bytes and rows, deleted rows
    included, and the delete files that apply to them.

    With `by_manifests` they are too many to be listed: `files` is a bound by the manifests that may have such files,
    and bytes, rows and delete files are not counted.
    """

    files: int = 0
    of_files: int = 0
    bytes: int = 0
    rows: int = 0
    delete_files: int = 0
    delete_bytes: int = 0
    by_manifests: bool = False


def read_files(
    io: FileIO,
    metadata: TableMetadata,
    snapshot: Snapshot | None,
    predicate: Predicate,
    *,
    manifests: ManifestCache,
    most_files: int,
) -> ReadFiles:
    """The files of `snapshot` that may have rows matching `predicate`, which are listed if their manifests have at most
    `most_files` data files. Reads manifests and no other file. Raises as `ManifestCache.entries`."""
    if snapshot is None:
        return ReadFiles()
    schema = scan_schema(metadata, snapshot, predicate)
    files = FileFilter(predicate, schema=schema, specs=metadata.specs_by_id())
    listed = manifests.manifests(io, snapshot)
    of_files = data_file_count(listed)
    data_manifests = matching_manifests(ManifestContent.DATA, listed, files)
    most = data_file_count(data_manifests)
    if most > most_files:
        return ReadFiles(most, of_files, by_manifests=True)
    deletes = matching_manifests(ManifestContent.DELETES, listed, files)
    data = manifests.matching_entries(io, data_manifests, metadata, files, with_metrics=bool(deletes))
    index = applied_deletes(io, metadata, data, deletes, files, manifests=manifests)
    applied = {
        delete.file.key: delete.file
        for entry in (data if index else ())
        for delete in (*index.position_deletes(entry), *index.equality_deletes(entry))
    }
    return ReadFiles(
        len(data),
        of_files,
        sum(entry.file.file_size_in_bytes for entry in data),
        sum(max(0, entry.file.record_count) for entry in data),
        len(applied),
        sum(file.content_bytes for file in applied.values()),
    )
