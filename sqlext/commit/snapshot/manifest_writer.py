"""New manifests of one commit: of added files, of what is left after a removal, and merged ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

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
from sqlext.spec.manifests.manifest import (
    UNASSIGNED_SEQUENCE_NUMBER,
    EntryStatus,
    FieldSummary,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    encode_manifest,
    summarise_partitions,
)
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.partition_spec import PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.storage.file_io import FileIO
from sqlext.storage.location import join, metadata_location

# Encoded and compressed, an entry with metrics of a dozen columns is about 300 bytes, so this stays near the 8 MiB
# that manifests are merged to.
_MAX_NEW_ENTRIES = 25_000


class ManifestWriter:
    """Writes the manifests of one commit and knows their paths."""

    def __init__(
        self, io: FileIO, manifests: ManifestCache, commit_id: str, snapshot_id: int, *, makes_table: bool
    ) -> None:
        """Only with `makes_table` the metadata folder is made: that of a table which was dropped must stay gone."""
        self._io = io
        self._makes_table = makes_table
        self._own_entries: dict[str, Sequence[ManifestEntry]] = {}
        self._manifests = manifests
        self._commit_id = commit_id
        self._snapshot_id = snapshot_id
        self._count = 0
        self.written: list[str] = []
        """Paths of all files that this commit wrote beside its content files."""

    def add(
        self, files: Iterable[ContentFile], metadata: TableMetadata, data_sequence_number: int | None = None
    ) -> tuple[ManifestFile, ...]:
        """Manifests of new files; they inherit the sequence number of the snapshot, so that a retry can use them.

        Data files with `data_sequence_number` have that one.
        """
        groups: dict[tuple[ManifestContent, int], list[ManifestEntry]] = {}
        for file in files:
            content = ManifestContent.DATA if file.content == Content.DATA else ManifestContent.DELETES
            number = data_sequence_number if file.content == Content.DATA else None
            entry = ManifestEntry(EntryStatus.ADDED, self._snapshot_id, number, None, file)
            groups.setdefault((content, file.spec_id), []).append(entry)
        return tuple(
            self._write(entries[start : start + _MAX_NEW_ENTRIES], metadata, spec_id, content)
            for (content, spec_id), entries in sorted(groups.items())
            for start in range(0, len(entries), _MAX_NEW_ENTRIES)
        )

    def without(
        self,
        manifest: ManifestFile,
        entries: Sequence[ManifestEntry],
        removed: frozenset[ContentKey],
        metadata: TableMetadata,
    ) -> ManifestFile:
        """`manifest` with the files of `removed` marked deleted by this snapshot; other files keep their numbers."""
        return self._write(
            [
                replace(entry, status=EntryStatus.DELETED, snapshot_id=self._snapshot_id)
                if entry.file.key in removed
                else replace(entry, status=EntryStatus.EXISTING)
                for entry in entries
                if entry.is_live
            ],
            metadata,
            manifest.spec_id,
            manifest.content,
        )

    def merge(self, manifests: Sequence[ManifestFile], metadata: TableMetadata) -> ManifestFile:
        """One manifest in place of several of one spec and content; what older snapshots deleted is left out."""
        merged = [
            entry if entry.snapshot_id == self._snapshot_id else replace(entry, status=EntryStatus.EXISTING)
            for manifest in manifests
            for entry in self._entries(manifest, metadata)
            if entry.is_live or entry.snapshot_id == self._snapshot_id
        ]
        return self._write(merged, metadata, manifests[0].spec_id, manifests[0].content)

    def create(self, name: str, data: bytes, metadata: TableMetadata) -> str:
        """Writes another metadata file of this commit, and returns its location."""
        location = join(metadata_location(metadata), name)
        # Kept before it is there, so that an interrupted write is cleaned up too.
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
        """`manifest` with its counts, where its list lacks some: one of format version 1, or a snapshot that lists its
        manifests itself, which does not tell the partitions either.

        So has a data manifest that is about to get row ids, as many as its counts say: those were made by whoever wrote
        it, and ids that are too few would be given twice.
        """
        gets_row_ids = metadata.next_row_id is not None and manifest.content == ManifestContent.DATA
        if None not in _told(manifest) and not (gets_row_ids and manifest.first_row_id is None):
            return manifest
        entries = self._entries(manifest, metadata)
        files, rows = _counts(entries)
        return replace(
            manifest,
            partitions=_summaries(entries, metadata.specs_by_id()[manifest.spec_id], metadata),
            added_files_count=files[EntryStatus.ADDED],
            existing_files_count=files[EntryStatus.EXISTING],
            deleted_files_count=files[EntryStatus.DELETED],
            added_rows_count=rows[EntryStatus.ADDED],
            existing_rows_count=rows[EntryStatus.EXISTING],
            deleted_rows_count=rows[EntryStatus.DELETED],
        )

    def _entries(self, manifest: ManifestFile, metadata: TableMetadata) -> Sequence[ManifestEntry]:
        # Own manifests have no sequence number before the commit: the cache, which others share, must not learn them.
        own = self._own_entries.get(manifest.path)
        return self._manifests.entries(self._io, manifest, metadata) if own is None else own

    def _write(
        self, entries: Sequence[ManifestEntry], metadata: TableMetadata, spec_id: int, content: ManifestContent
    ) -> ManifestFile:
        schema, spec, version = metadata.schema(), metadata.specs_by_id()[spec_id], metadata.format_version
        if (field := spec.not_portable(schema)) is not None:
            raise UnsupportedError("UNSUPPORTED_WRITE", feature=f"the type of partition field {field.name}, fixed,")
        data = encode_manifest(
            entries, schema=schema, spec=spec, content=content, format_version=version, others=_older_schemas(metadata)
        )
        path = self.create(f"{self._commit_id}-m{self._count}.avro", data, metadata)
        self._count += 1
        self._own_entries[path] = entries
        files, rows = _counts(entries)
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
            partitions=_summaries(entries, spec, metadata),
        )


def _summaries(
    entries: Sequence[ManifestEntry], spec: PartitionSpec, metadata: TableMetadata
) -> tuple[FieldSummary, ...] | None:
    return summarise_partitions(entries, spec, metadata.schema(), _older_schemas(metadata))


def _older_schemas(metadata: TableMetadata) -> Sequence[Schema]:
    """Newest first: a column that was dropped has its partitions still, those of a branch or an older file."""
    return metadata.schemas[::-1]


def merge_groups(manifests: Sequence[ManifestFile], metadata: TableMetadata) -> Iterator[tuple[ManifestFile, ...]]:
    """Manifests, newest first, in groups each of which is to become one manifest; a group of one stays as it is.

    Groups hold one content and spec and fill up from the oldest, to `commit.manifest.target-size-bytes`. The group
    with the newest manifest is still growing: it is merged when it has `commit.manifest.min-count-to-merge`.
    """
    if not MANIFEST_MERGE_ENABLED.of(metadata.properties):
        yield from ((manifest,) for manifest in manifests)
        return
    kinds: dict[tuple[ManifestContent, int], list[ManifestFile]] = {}
    for manifest in manifests:
        kinds.setdefault((manifest.content, manifest.spec_id), []).append(manifest)
    minimum = MANIFEST_MIN_COUNT_TO_MERGE.of(metadata.properties)
    target = MANIFEST_TARGET_SIZE_BYTES.of(metadata.properties)
    for kind in kinds.values():
        for group in _filled_from_the_end(kind, target):
            if group[0] is kind[0] and len(group) < minimum:
                yield from ((manifest,) for manifest in group)
            else:
                yield group


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


def _counts(entries: Iterable[ManifestEntry]) -> tuple[dict[EntryStatus, int], dict[EntryStatus, int]]:
    files, rows = dict.fromkeys(EntryStatus, 0), dict.fromkeys(EntryStatus, 0)
    for entry in entries:
        files[entry.status] += 1
        rows[entry.status] += entry.file.record_count
    return files, rows


def _min_sequence_number(entries: Iterable[ManifestEntry]) -> int:
    """Of the live files; new files have the snapshot's number, which is larger than any that was given."""
    given = [entry.sequence_number for entry in entries if entry.is_live and entry.sequence_number is not None]
    return min(given, default=UNASSIGNED_SEQUENCE_NUMBER)
