"""The manifests of a snapshot whose manifest list is lost, from those that its commit wrote and those of its parent.

A commit names its manifests and its manifest list by one id, as Iceberg's library does. A manifest of the parent is
still one of the snapshot's unless a new one has its files, for a commit replaces manifests as a whole.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlext.errors import CorruptionError, SqlextError
from sqlext.scan.checks.manifest_checks import ManifestHeader
from sqlext.scan.checks.totals import total_findings, totals_of
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.avro import avro_file
from sqlext.spec.manifests.manifest import EntryStatus, ManifestContent, ManifestEntry, ManifestFile
from sqlext.spec.manifests.row_lineage import assign_first_row_ids
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO

_LIST = re.compile(r"snap-[0-9]+-[0-9]+-(?P<commit>.+)\.avro")


def rebuilt_list(io: FileIO, metadata: TableMetadata, snapshot: Snapshot) -> tuple[ManifestFile, ...] | None:
    """The manifests of `snapshot`, whose list cannot be read; None if they cannot be told for sure, which is if their
    totals are not those of its summary, or it has none."""
    parent_id = snapshot.parent_snapshot_id
    parent = None if parent_id is None else metadata.snapshot_or_none(parent_id)
    if parent is None and parent_id is not None:
        return None
    cache = ManifestCache(0)
    try:
        before = () if parent is None else cache.manifests(io, parent)
        own = [(one, cache.entries(io, one, metadata)) for one in _own_manifests(io, metadata, snapshot)]
        placed = {
            entry.file.key for _, entries in own for entry in entries if entry.snapshot_id != snapshot.snapshot_id
        }
        gone = {entry.file.key for _, entries in own for entry in entries if not entry.is_live}
        kept = []
        for manifest in before:
            entries = cache.entries(io, manifest, metadata)
            if manifest.has_live_files and not any(one.file.key in placed | gone for one in entries if one.is_live):
                kept.append((manifest, entries))
    except SqlextError:
        return None
    totals = sum((_totals(entries) for _, entries in (*own, *kept)), Counter[str]())
    if "total-data-files" not in snapshot.summary or list(total_findings(snapshot, totals)):
        return None
    listed = [manifest for manifest, _ in (*own, *kept)]
    if snapshot.first_row_id is not None:
        listed, end = assign_first_row_ids(listed, snapshot.first_row_id)
        if snapshot.added_rows is not None and end != snapshot.first_row_id + snapshot.added_rows:
            return None
    return tuple(listed)


def _totals(entries: Sequence[ManifestEntry]) -> Counter[str]:
    return totals_of(entry.file for entry in entries if entry.is_live)


def _own_manifests(io: FileIO, metadata: TableMetadata, snapshot: Snapshot) -> Iterator[ManifestFile]:
    """The manifests that the snapshot's commit wrote beside the list, in the order in which it numbered them."""
    folder, _, name = snapshot.manifest_list.rpartition("/")
    named = _LIST.fullmatch(name)
    if named is None:
        return
    own = re.compile(re.escape(named["commit"]) + r"-m([0-9]+)\.avro")
    found = {int(match[1]): one for one in io.list(folder) if (match := own.fullmatch(one.path.rpartition("/")[2]))}
    cache = ManifestCache(0)
    for number in sorted(found):
        path = f"{folder}/{found[number].path.rpartition('/')[2]}"
        manifest = unlisted_manifest(io, path, snapshot.snapshot_id, snapshot.sequence_number)
        entries = cache.entries(io, manifest, metadata)
        if any(entry.snapshot_id == snapshot.snapshot_id for entry in entries):
            numbers = [entry.sequence_number or 0 for entry in entries if entry.is_live]
            yield replace(
                manifest,
                min_sequence_number=min(numbers, default=snapshot.sequence_number),
                # For these the list has reserved row ids.
                added_rows_count=_rows(entries, EntryStatus.ADDED),
                existing_rows_count=_rows(entries, EntryStatus.EXISTING),
            )


def _rows(entries: Sequence[ManifestEntry], status: EntryStatus) -> int:
    return sum(entry.file.record_count for entry in entries if entry.status == status)


def unlisted_manifest(io: FileIO, path: str, snapshot_id: int, sequence_number: int) -> ManifestFile:
    """A manifest of which no list is at hand, as the list of its commit had it but for counts. Raises CorruptionError,
    or FileNotFoundError."""
    data = io.read(path)
    try:
        header, _ = avro_file.decode_header(data)
        known = ManifestHeader.of(header)
    except Exception as error:  # on a damaged file nearly any may be raised
        raise CorruptionError("CORRUPT_FILE", path=path, kind="manifest", reason=error) from error
    return ManifestFile(
        path,
        len(data),
        known.spec_id or 0,
        ManifestContent.DATA if known.content is None else known.content,
        sequence_number,
        sequence_number,
        snapshot_id,
        *(None,) * 6,
        partitions=None,
    )
