"""What is left of a table whose manifests are lost in part: entries of all manifests that can be read, also of those
that no snapshot names any more, and the files in the table's folders that none of them names."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sqlext.catalog.owned_files import own_folders
from sqlext.command.doctor.found_content import (
    FoundContent,
    FoundKind,
    PositionDeletes,
    content_file_in,
    format_of,
    found_content,
    position_deletes,
)
from sqlext.command.doctor.found_files import DAMAGED, is_hidden
from sqlext.command.doctor.rebuilt_list import unlisted_manifest
from sqlext.errors import SqlextError, StorageError
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.avro import avro_file
from sqlext.spec.manifests.content_file import PUFFIN, ContentFile, ContentKey
from sqlext.spec.manifests.manifest import ManifestContent, ManifestEntry, ManifestFile, decode_manifest
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.partition_spec import PartitionSpec
from sqlext.spec.stored_bytes.checksum import ChecksumState
from sqlext.storage.file_io import FileIO, FileStatus
from sqlext.storage.in_threads import each_decoded
from sqlext.storage.location import is_below, join, metadata_location, same_place

_NOT_KNOWN = -1
_KINDS = {
    ManifestContent.DATA: (FoundKind.DATA,),
    ManifestContent.DELETES: (FoundKind.POSITIONS, FoundKind.EQUALITY, FoundKind.VECTORS),
}


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A content file that a manifest names, by the newest entry; the id of the snapshot that added it and its sequence
    numbers are None if they are not known. `deleted_by` are snapshots that removed it."""

    entry: ManifestEntry
    deleted_by: frozenset[int]


class TableRemains:
    """Keeps what it has read for all questions, and reads what is not asked for not at all."""

    def __init__(self, io: FileIO, metadata: TableMetadata, lost: Collection[str]) -> None:
        """`lost` are the locations of manifests that cannot be read."""
        self._io = io
        self._metadata = metadata
        self._lost = lost
        self._cache = ManifestCache(0)
        self._entries: dict[ManifestFile, tuple[ManifestEntry, ...] | None] = {}
        self._found: dict[str, FoundContent | None] = {}
        self._of_rows: dict[tuple[str, int], ContentFile | None] = {}
        self._positions: dict[str, tuple[PositionDeletes, ...]] = {}

    def manifests(self, snapshot: Snapshot | None) -> tuple[ManifestFile, ...] | None:
        """The manifests of a snapshot; None if its list cannot be read."""
        return None if snapshot is None else self._lists.get(snapshot.snapshot_id)

    def entries(self, manifest: ManifestFile) -> tuple[ManifestEntry, ...] | None:
        """All entries of a manifest; None if it cannot be read."""
        if manifest not in self._entries:
            self._entries[manifest] = self._read(manifest)
        return self._entries[manifest]

    @cached_property
    def known(self) -> Mapping[ContentKey, KnownFile]:
        """All files that manifests name."""
        newest: dict[ContentKey, ManifestEntry] = {}
        removed: dict[ContentKey, ManifestEntry] = {}
        deleted: dict[ContentKey, set[int]] = defaultdict(set)
        for manifest in self._listed_manifests():
            for entry in self.entries(manifest) or ():
                if entry.is_live:
                    newest.setdefault(entry.file.key, entry)
                elif entry.snapshot_id is not None:
                    removed.setdefault(entry.file.key, entry)
                    deleted[entry.file.key].add(entry.snapshot_id)
        # An entry of a removed file has the snapshot that removed it in place of the one that added it.
        ids = {one.sequence_number: one.snapshot_id for one in self._metadata.snapshots if one.sequence_number}
        for key, entry in removed.items():
            added = ids.get(entry.file_sequence_number or 0)
            newest.setdefault(key, replace(entry, snapshot_id=added))
        for entry in self._unlisted_entries():
            if entry.file.key not in newest and self._exists(entry.file.file_path):
                newest[entry.file.key] = entry
        return {key: KnownFile(entry, frozenset(deleted.get(key, ()))) for key, entry in newest.items()}

    @cached_property
    def file_names(self) -> tuple[str, ...]:
        """The names of all content files in the table's folders, without these."""
        return tuple(place.rpartition("/")[2] for place in self._files)

    def unnamed(self, content: ManifestContent, spec: PartitionSpec, data: Mapping[str, Any]) -> Iterator[ContentFile]:
        """The content files that no manifest names, as a manifest of `content` and `spec` has them; `data` has the
        spec id and partition of each data file by its path, which are those of its position deletes. What cannot be
        read is left out. Raises StorageError."""
        is_data = content == ManifestContent.DATA
        statuses = [one for one in self._unnamed if not (is_data and one.path.endswith(".puffin"))]
        paths = [one.path for one in statuses]
        each = each_decoded(self._io, [path for path in paths if path not in self._found])

        def entries_of(status: FileStatus) -> Sequence[ContentFile]:
            found = self._content(status)
            if found is None or found.kind not in _KINDS[content]:
                return ()
            if found.kind in (FoundKind.DATA, FoundKind.EQUALITY):
                file = self._row_file(found, spec)
                return () if file is None else (file,)
            placed = (one.placed(spec, data) for one in self._position_deletes(found))
            return [one for one in placed if one is not None]

        for found in each(entries_of, statuses):
            yield from (file for file in found if file.key not in self.known)

    def _row_file(self, found: FoundContent, spec: PartitionSpec) -> ContentFile | None:
        key = found.path, spec.spec_id
        if key not in self._of_rows:
            folder = self._folder(found.path)
            root = self._spellings.get(folder, folder)
            try:
                self._of_rows[key] = content_file_in(self._io, found, self._metadata, spec, root)
            except StorageError:
                raise
            except (SqlextError, *DAMAGED):
                self._of_rows[key] = None
        return self._of_rows[key]

    def _position_deletes(self, found: FoundContent) -> tuple[PositionDeletes, ...]:
        if found.path not in self._positions:
            try:
                self._positions[found.path] = position_deletes(self._io, found)
            except StorageError:
                raise
            except (SqlextError, *DAMAGED):
                self._positions[found.path] = ()
        return self._positions[found.path]

    # manifests

    @cached_property
    def _lists(self) -> Mapping[int, tuple[ManifestFile, ...]]:
        found = {}
        for snapshot in self._metadata.snapshots:
            try:
                found[snapshot.snapshot_id] = self._cache.manifests(self._io, snapshot)
            except StorageError:
                raise
            except SqlextError:
                continue
        return found

    def _listed_manifests(self) -> Iterator[ManifestFile]:
        """Each once, as the newest list has it."""
        seen: set[str] = set()
        for listed in reversed(list(self._lists.values())):
            for manifest in listed:
                if manifest.path not in seen:
                    seen.add(manifest.path)
                    yield manifest

    def _read(self, manifest: ManifestFile) -> tuple[ManifestEntry, ...] | None:
        if manifest.path in self._lost:
            return None
        try:
            return self._cache.entries(self._io, manifest, self._metadata)
        except StorageError:
            raise
        except SqlextError:
            return None

    def _unlisted_entries(self) -> Iterator[ManifestEntry]:
        """Of manifests of snapshots that have expired, or of commits that were not made."""
        named = {same_place(one.path) for one in self._listed_manifests()}
        for folder in dict.fromkeys((metadata_location(self._metadata), join(self._metadata.location, "metadata"))):
            for status in self._io.list(folder):
                name = status.path.rpartition("/")[2]
                if name.endswith(".avro") and not name.startswith("snap-") and same_place(status.path) not in named:
                    yield from self._of_unlisted(status.path)

    def _of_unlisted(self, path: str) -> Iterator[ManifestEntry]:
        metadata = self._metadata
        try:
            data = self._io.read(path)
            if avro_file.checksum_state(data) == ChecksumState.WRONG:
                return
            manifest = unlisted_manifest(self._io, path, _NOT_KNOWN, _NOT_KNOWN)
            entries = decode_manifest(data, manifest, schema=metadata.schema(), specs=metadata.specs_by_id())
        except StorageError:
            raise
        except (SqlextError, FileNotFoundError):
            return
        numbers = {one.snapshot_id: one.sequence_number for one in metadata.snapshots}
        for entry in entries:
            own = None if entry.snapshot_id == _NOT_KNOWN else entry.snapshot_id
            number, file_number = (
                numbers.get(own or _NOT_KNOWN) if one == _NOT_KNOWN else one
                for one in (entry.sequence_number, entry.file_sequence_number)
            )
            yield replace(entry, snapshot_id=own, sequence_number=number, file_sequence_number=file_number)

    # files

    @cached_property
    def _folders(self) -> tuple[str, ...]:
        return tuple(folder.rstrip("/") for folder in own_folders(self._metadata))

    @cached_property
    def _files(self) -> Mapping[str, FileStatus]:
        """All content files in the table's folders by their place."""
        metadata, found = metadata_location(self._metadata), dict[str, FileStatus]()
        for folder in self._folders:
            for status in self._io.list(folder):
                path = status.path
                if not (format_of(path) is None or is_hidden(path, folder) or is_below(metadata, path)):
                    found.setdefault(same_place(path), status)
        return found

    @cached_property
    def _unnamed(self) -> tuple[FileStatus, ...]:
        """Files that no manifest names; with all Puffin files, as a manifest may name one vector of several."""
        files = (one.entry.file for one in self.known.values())
        named = {same_place(file.file_path) for file in files if file.file_format != PUFFIN}
        found = ((place, status) for place, status in sorted(self._files.items()) if place not in named)
        return tuple(replace(status, path=self._spelled(place)) for place, status in found)

    def _spelled(self, place: str) -> str:
        """A location as the writers of the table's files spell it, since deletes name data files by their whole
        location: Hadoop writes `file:/a` for a table at `file:///a`."""
        folder = self._folder(place)
        return self._spellings.get(folder, folder) + place[len(same_place(folder).rstrip("/")) :]

    def _folder(self, path: str) -> str:
        return next(folder for folder in self._folders if is_below(folder, path))

    @cached_property
    def _spellings(self) -> Mapping[str, str]:
        """How the locations of known files spell the table's folders, mostly."""
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for known in self.known.values():
            path = known.entry.file.file_path
            for folder in self._folders:
                below = same_place(path)[len(same_place(folder).rstrip("/")) :]
                if is_below(folder, path) and path.endswith(below):
                    found[folder][path.removesuffix(below)] += 1
        return {folder: counted.most_common(1)[0][0] for folder, counted in found.items()}

    def _exists(self, path: str) -> bool:
        return same_place(path) in self._files or self._io.exists(path)

    def _content(self, status: FileStatus) -> FoundContent | None:
        """None of a file that cannot be read."""
        if status.path not in self._found:
            try:
                self._found[status.path] = found_content(self._io, status.path, status.size)
            except StorageError:
                raise
            except (SqlextError, *DAMAGED):
                self._found[status.path] = None
        return self._found[status.path]
