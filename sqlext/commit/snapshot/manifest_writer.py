"""New manifests of one commit: of added files, without removed ones, and merged ones (spec: Manifests)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from sqlext.commit.snapshot.own_files import create_own_file
from sqlext.errors import StorageError, UnsupportedError
from sqlext.properties import (
    MANIFEST_MERGE_ENABLED,
    MANIFEST_MIN_COUNT_TO_MERGE,
    MANIFEST_TARGET_SIZE_BYTES,
    METADATA_PATH,
)
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.spec.manifests.content_file import Content, ContentFile, ContentKey
from sqlext.spec.manifests.encoded_entry import (
    EncodedEntry,
    EntryFormat,
    encode_entries,
    encoded_entries,
    encoded_entry,
)
from sqlext.spec.manifests.manifest import (
    UNASSIGNED_SEQUENCE_NUMBER,
    EntryStatus,
    FieldSummary,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    summarise_partitions,
)
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.partition_spec import PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.storage.file_io import FileIO
from sqlext.storage.location import join, metadata_location

# An entry with metrics of a dozen columns takes about 300 bytes, encoded and compressed, so a manifest stays near the 8
# MiB that manifests are merged to.
_MAX_NEW_ENTRIES = 25_000

ManifestKey: TypeAlias = tuple[int, str, int | None, int]
"""What determines the entries of a manifest: format version, path, and what the manifest list assigns: first row id
(after an upgrade, perhaps between two attempts) and sequence number (it changes between attempts for a manifest of
another change in the same commit)."""


class ManifestWriter:
    """Writes the manifests of one commit and keeps their paths."""

    def __init__(
        self, io: FileIO, manifests: ManifestCache, commit_id: str, snapshot_id: int, *, makes_table: bool
    ) -> None:
        """Without `makes_table` the metadata folder is not created: a dropped table's folder must not reappear."""
        self._io = io
        self._makes_table = makes_table
        self._own: dict[str, bytes] = {}
        self._manifests = manifests
        self._commit_id = commit_id
        self._snapshot_id = snapshot_id
        self._count = 0
        self.written: list[str] = []
        """Paths of all metadata files of this commit."""

    def add(
        self, files: Iterable[ContentFile], metadata: TableMetadata, data_sequence_number: int | None = None
    ) -> tuple[ManifestFile, ...]:
        """Manifests of new files, which inherit the snapshot's sequence number, so that a retry can use the manifests.

        Data files get `data_sequence_number` instead, unless it is None.
        """
        groups: dict[tuple[ManifestContent, int], list[ManifestEntry]] = {}
        for file in files:
            content = ManifestContent.DATA if file.content == Content.DATA else ManifestContent.DELETES
            number = data_sequence_number if file.content == Content.DATA else None
            entry = ManifestEntry(EntryStatus.ADDED, self._snapshot_id, number, None, file)
            groups.setdefault((content, file.spec_id), []).append(entry)
        return tuple(
            self.of_entries(entries[start : start + _MAX_NEW_ENTRIES], metadata, spec_id, content)
            for (content, spec_id), entries in sorted(groups.items())
            for start in range(0, len(entries), _MAX_NEW_ENTRIES)
        )

    def without(
        self, manifests: Sequence[ManifestFile], removed: frozenset[ContentKey], metadata: TableMetadata
    ) -> ManifestFile:
        """One manifest in place of several of one spec and content, with `removed` marked as deleted by this snapshot;
        other entries keep their sequence numbers."""
        entries = [
            entry.with_status(EntryStatus.DELETED, self._snapshot_id) if entry.key in removed else entry.existing
            for entry in self.encoded_entries(manifests, metadata)
            if entry.is_live
        ]
        return self.write(entries, metadata, manifests[0].spec_id, manifests[0].content)

    def merge(self, manifests: Sequence[ManifestFile], metadata: TableMetadata) -> ManifestFile:
        """One manifest in place of several of one spec and content, without entries that older snapshots deleted."""
        merged = [
            entry if entry.snapshot_id == self._snapshot_id else entry.existing
            for entry in self.encoded_entries(manifests, metadata)
            if entry.is_live or entry.snapshot_id == self._snapshot_id
        ]
        return self.write(merged, metadata, manifests[0].spec_id, manifests[0].content)

    def encoded_entries(self, manifests: Sequence[ManifestFile], metadata: TableMetadata) -> Iterator[EncodedEntry]:
        """All entries of manifests of one spec, as they are encoded in manifests of `metadata`.

        Raises NotFoundError, CorruptionError, or UnsupportedError for encryption.
        """
        files = ((manifest, self._bytes(manifest)) for manifest in manifests)
        return encoded_entries(files, _format(metadata, manifests[0].spec_id))

    def write(
        self, entries: Sequence[EncodedEntry], metadata: TableMetadata, spec_id: int, content: ManifestContent
    ) -> ManifestFile:
        """A manifest of entries of one spec. Raises StorageError, UnsupportedError for a partition of type fixed."""
        to = _format(metadata, spec_id)
        if (field := to.spec.fixed_type_field(to.schema)) is not None:
            raise UnsupportedError("UNSUPPORTED_WRITE", feature=f"the type of partition field {field.name}, fixed,")
        data = encode_entries(entries, content, to)
        path = self.create(f"{self._commit_id}-m{self._count}.avro", data, metadata)
        self._count += 1
        self._own[path] = data
        files, rows = _counts((entry.status, entry.record_count) for entry in entries)
        return ManifestFile(
            path=path,
            length=len(data),
            spec_id=spec_id,
            content=content,
            sequence_number=UNASSIGNED_SEQUENCE_NUMBER,
            min_sequence_number=_min_sequence_number(entries),
            added_snapshot_id=self._snapshot_id,
            added_files_count=files[EntryStatus.ADDED],
            existing_files_count=files[EntryStatus.EXISTING],
            deleted_files_count=files[EntryStatus.DELETED],
            added_rows_count=rows[EntryStatus.ADDED],
            existing_rows_count=rows[EntryStatus.EXISTING],
            deleted_rows_count=rows[EntryStatus.DELETED],
            partitions=_summaries((entry.partition for entry in entries), to.spec, metadata),
        )

    def create(self, name: str, data: bytes, metadata: TableMetadata) -> str:
        """Writes a metadata file and returns its location. Raises StorageError, also if the name is taken."""
        location = join(metadata_location(metadata), name)
        # Noted before the write, so that an interrupted one is cleaned up too.
        self.written.append(location)
        try:
            make_folders = self._makes_table or METADATA_PATH.name in metadata.properties
            create_own_file(self._io, location, data, make_folders=make_folders)
        except FileExistsError:
            self.written.remove(location)
            raise StorageError(
                "STORAGE_FAILURE", operation="Writing", path=location, reason="another commit has a file of that name"
            ) from None
        return location

    def counted(self, manifest: ManifestFile, metadata: TableMetadata) -> ManifestFile:
        """`manifest` with counts and partition summaries, if its list lacks counts: one of format version 1, or a
        snapshot with embedded manifests.

        A data manifest that gets row ids (spec: Row Lineage) is counted again: with too low a count, ids would be
        assigned twice.
        """
        gets_row_ids = metadata.next_row_id is not None and manifest.content == ManifestContent.DATA
        doubtful = gets_row_ids and manifest.first_row_id is None and manifest.path not in self._own
        if None not in _told(manifest) and not doubtful:
            return manifest
        return self.recounted(manifest, self._manifests.entries(self._io, manifest, metadata), metadata)

    def recounted(
        self, manifest: ManifestFile, entries: Sequence[ManifestEntry], metadata: TableMetadata
    ) -> ManifestFile:
        """`manifest` with the counts and partition summaries of its `entries`."""
        files, rows = _counts((entry.status, entry.file.record_count) for entry in entries)
        partitions = (entry.file.partition for entry in entries)
        return replace(
            manifest,
            partitions=_summaries(partitions, metadata.specs_by_id()[manifest.spec_id], metadata),
            added_files_count=files[EntryStatus.ADDED],
            existing_files_count=files[EntryStatus.EXISTING],
            deleted_files_count=files[EntryStatus.DELETED],
            added_rows_count=rows[EntryStatus.ADDED],
            existing_rows_count=rows[EntryStatus.EXISTING],
            deleted_rows_count=rows[EntryStatus.DELETED],
        )

    def of_entries(
        self, entries: Sequence[ManifestEntry], metadata: TableMetadata, spec_id: int, content: ManifestContent
    ) -> ManifestFile:
        """A manifest of entries of one spec that are in no other. Raises as `write`."""
        to = _format(metadata, spec_id)
        return self.write([encoded_entry(entry, to) for entry in entries], metadata, spec_id, content)

    def _bytes(self, manifest: ManifestFile) -> bytes:
        own = self._own.get(manifest.path)
        return self._manifests.read(self._io, manifest) if own is None else own


def _format(metadata: TableMetadata, spec_id: int) -> EntryFormat:
    spec = metadata.specs_by_id()[spec_id]
    return EntryFormat(metadata.format_version, metadata.schema(), spec, _older_schemas(metadata))


def _summaries(
    partitions: Iterable[tuple[Any, ...]], spec: PartitionSpec, metadata: TableMetadata
) -> tuple[FieldSummary, ...] | None:
    return summarise_partitions(partitions, spec, metadata.schema(), _older_schemas(metadata))


def _older_schemas(metadata: TableMetadata) -> Sequence[Schema]:
    """Newest first: the partitions of a dropped column remain, in branches and older files."""
    return metadata.schemas[::-1]


def manifest_key(manifest: ManifestFile, base: TableMetadata) -> ManifestKey:
    return base.format_version, manifest.path, manifest.first_row_id, manifest.sequence_number


def merge_groups(manifests: Sequence[ManifestFile], metadata: TableMetadata) -> Iterator[tuple[ManifestFile, ...]]:
    """`manifests`, newest first, in groups that become one manifest each; a group of one stays as it is.

    A group has one content and spec, and is filled from the oldest manifest on up to
    `commit.manifest.target-size-bytes`. The newest group is merged only with `commit.manifest.min-count-to-merge`
    manifests.
    """
    if not MANIFEST_MERGE_ENABLED.of(metadata.properties):
        yield from ((manifest,) for manifest in manifests)
        return
    minimum = MANIFEST_MIN_COUNT_TO_MERGE.of(metadata.properties)
    target = MANIFEST_TARGET_SIZE_BYTES.of(metadata.properties)
    for kind in _by_kind(manifests):
        for group in _filled_from_the_end(kind, target):
            if group[0] is kind[0] and len(group) < minimum:
                yield from ((manifest,) for manifest in group)
            else:
                yield group


def rewrite_groups(manifests: Sequence[ManifestFile], metadata: TableMetadata) -> Iterator[tuple[ManifestFile, ...]]:
    """Manifests that a commit rewrites in any case, in groups that become one manifest each.

    As by `merge_groups`, but of any number: it costs less to write one manifest than several.
    """
    if not MANIFEST_MERGE_ENABLED.of(metadata.properties):
        yield from ((manifest,) for manifest in manifests)
        return
    target = MANIFEST_TARGET_SIZE_BYTES.of(metadata.properties)
    for kind in _by_kind(manifests):
        yield from _filled_from_the_end(kind, target)


def _by_kind(manifests: Iterable[ManifestFile]) -> Iterable[list[ManifestFile]]:
    """Manifests that can become one: of one content and spec."""
    kinds: dict[tuple[ManifestContent, int], list[ManifestFile]] = {}
    for manifest in manifests:
        kinds.setdefault((manifest.content, manifest.spec_id), []).append(manifest)
    return kinds.values()


def _filled_from_the_end(manifests: Sequence[ManifestFile], target: int) -> list[tuple[ManifestFile, ...]]:
    groups: list[list[ManifestFile]] = []
    size = 0
    for manifest in reversed(manifests):
        if not groups or size + manifest.length > target:
            groups.append([])
            size = 0
        groups[-1].append(manifest)
        size += manifest.length
    return [tuple(reversed(group)) for group in reversed(groups)]


def _told(manifest: ManifestFile) -> tuple[int | None, ...]:
    files = (manifest.added_files_count, manifest.existing_files_count, manifest.deleted_files_count)
    return (*files, manifest.added_rows_count, manifest.existing_rows_count, manifest.deleted_rows_count)


def _counts(entries: Iterable[tuple[EntryStatus, int]]) -> tuple[dict[EntryStatus, int], dict[EntryStatus, int]]:
    """Files and rows by status, of status and number of rows of each file."""
    files, rows = dict.fromkeys(EntryStatus, 0), dict.fromkeys(EntryStatus, 0)
    for status, record_count in entries:
        files[status] += 1
        rows[status] += record_count
    return files, rows


def _min_sequence_number(entries: Iterable[EncodedEntry]) -> int:
    """The least sequence number of live files. New files inherit the snapshot's, which is larger than all assigned
    ones."""
    given = (entry.sequence_number for entry in entries if entry.is_live and entry.sequence_number is not None)
    return min(given, default=UNASSIGNED_SEQUENCE_NUMBER)
