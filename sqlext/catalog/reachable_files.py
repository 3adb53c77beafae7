"""The files that a table's metadata names, in all snapshots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from sqlext.errors import SqlextError
from sqlext.spec.manifests.manifest import decode_manifest, decode_manifest_list
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO


def reachable_files(io: FileIO, metadata: TableMetadata) -> Iterator[str]:
    """Content files, manifests and manifest lists, each once; unreadable ones are skipped."""
    seen: set[str] = set()
    for snapshot in metadata.snapshots:
        for path in _snapshot_files(io, metadata, snapshot.manifest_list, seen):
            if path not in seen:
                seen.add(path)
                yield path


def snapshot_files(io: FileIO, metadata: TableMetadata, snapshots: Sequence[Snapshot]) -> Iterator[str]:
    """All files of some snapshots, possibly repeated; of unreadable ones only the location."""
    for snapshot in snapshots:
        yield snapshot.manifest_list
        with suppress(SqlextError, FileNotFoundError):
            for manifest in decode_manifest_list(io.read(snapshot.manifest_list), snapshot.manifest_list):
                yield manifest.path
    yield from reachable_files(io, replace(metadata, snapshots=tuple(snapshots)))


def _snapshot_files(io: FileIO, metadata: TableMetadata, manifest_list: str, seen: set[str]) -> Iterator[str]:
    if not manifest_list:
        return
    try:
        manifests = decode_manifest_list(io.read(manifest_list), manifest_list)
    except (SqlextError, FileNotFoundError):
        return
    for manifest in manifests:
        if manifest.path in seen:
            continue
        try:
            data = io.read(manifest.path)
            entries = decode_manifest(data, manifest, schema=metadata.schema(), specs=metadata.specs_by_id())
        except (SqlextError, FileNotFoundError):
            continue
        yield from (entry.file.file_path for entry in entries)
        yield manifest.path
    yield manifest_list
