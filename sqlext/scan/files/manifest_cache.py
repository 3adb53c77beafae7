"""Manifests of a snapshot and their entries, cached in decoded form since manifests are immutable."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeAlias

import numpy as np

from sqlext.errors import CorruptionError, NotFoundError, UnsupportedError
from sqlext.scan.files.byte_cache import ByteCache
from sqlext.scan.filter.file_filter import FileFilter
from sqlext.spec.avro import avro_file
from sqlext.spec.avro.avro_columns import NotColumnar
from sqlext.spec.manifests.manifest import (
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    decode_manifest,
    decode_manifest_list,
)
from sqlext.spec.manifests.manifest_columns import ManifestColumns, decode_manifest_columns
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO
from sqlext.storage.in_threads import each_decoded
from sqlext.storage.location import is_object

DEFAULT_CAPACITY = 400 * 1024 * 1024
# The entries of larger manifest files do not fit into the default capacity, so each scan would decode them again.
DEFAULT_DRIVER_BYTES = 128 * 1024 * 1024
# Columns cost some milliseconds for any number of entries, objects a tenth of a millisecond for each.
_FEWEST_FOR_COLUMNS = 50
# The columns of fewer entries take more of Python's time, which runs one thread, than of zlib's and numpy's.
_FEWEST_FOR_THREADS = 1_000
_COMPRESSED_ENTRY_BYTES = 100
# By tracemalloc an entry without metrics takes 825 bytes, and a metric of one column 42 if it is a small number.
_ENTRY_BYTES = 850
_METRIC_BYTES = 60

# Manifest lists may give one manifest different first row ids, in a table upgraded to format version 3, and different
# sequence numbers before the commit, if a group commit is retried.
_ManifestKey: TypeAlias = tuple[str, int | None, int]

EntriesOf: TypeAlias = "Callable[[ManifestFile], list[ManifestEntry]]"
DistributedReader: TypeAlias = Callable[[Sequence[ManifestFile], EntriesOf], Sequence[list[ManifestEntry]]]
"""Applies a picklable function to each manifest in other processes. Raises the first error that it raises."""


@dataclass(frozen=True, slots=True)
class ManifestContents:
    """What is in a manifest: its entries as columns, or if `columns` is None all of them as `entries`."""

    columns: tuple[ManifestColumns, ...] | None
    entries: tuple[ManifestEntry, ...] = ()

    def live_entries(self) -> list[ManifestEntry]:
        """Those of `entries` that are not of status DELETED."""
        return [entry for entry in self.entries if entry.is_live]


class ManifestCache:
    """A cache of decoded manifest lists and manifests, for one process; thread-safe.

    Manifests with many entries are cached as columns, from which a scan makes only matching entries.
    """

    def __init__(
        self,
        capacity: int = DEFAULT_CAPACITY,
        *,
        elsewhere: DistributedReader | None = None,
        driver_bytes: int = DEFAULT_DRIVER_BYTES,
    ) -> None:
        """`capacity` is in bytes of memory, which are estimated for objects and exact for columns.

        If a scan needs more than `driver_bytes` of manifest files that are not cached, they are read `elsewhere` and
        not cached.
        """
        self._elsewhere = elsewhere
        self._driver_bytes = driver_bytes
        self._lists: ByteCache[str, tuple[ManifestFile, ...]] = ByteCache(capacity // 16)
        self._entries: ByteCache[_ManifestKey, tuple[ManifestEntry, ...]] = ByteCache(capacity // 8)
        self._columns: ByteCache[_ManifestKey, tuple[ManifestColumns, ...] | None] = ByteCache(capacity * 13 // 16)

    def manifests(self, io: FileIO, snapshot: Snapshot) -> tuple[ManifestFile, ...]:
        """The manifests of a snapshot. Raises NotFoundError, CorruptionError, or UnsupportedError for encryption."""
        if snapshot.embedded_manifests:
            return tuple(_embedded_manifest(io, path) for path in snapshot.embedded_manifests)
        path = snapshot.manifest_list
        if "key-id" in snapshot.extra:
            raise _encrypted("manifest list", path)

        def load() -> tuple[tuple[ManifestFile, ...], int]:
            return _weighed(tuple(decode_manifest_list(_read(io, path, "manifest list"), path)))

        return self._lists.load_once(path, load)

    def keep_list(self, path: str, manifests: tuple[ManifestFile, ...]) -> None:
        """Caches the manifests of a new manifest list, as it gives them."""
        self._lists.load_once(path, lambda: _weighed(manifests))

    def forget(self, paths: Collection[str]) -> None:
        """Forgets deleted files, whose objects would only lengthen Python's collections of garbage."""
        self._lists.forget(lambda path: path in paths)
        self._entries.forget(lambda key: key[0] in paths)
        self._columns.forget(lambda key: key[0] in paths)

    def clear(self) -> None:
        """Forgets all files, after one has been mended."""
        self._lists.clear()
        self._entries.clear()
        self._columns.clear()

    def entries(self, io: FileIO, manifest: ManifestFile, metadata: TableMetadata) -> tuple[ManifestEntry, ...]:
        """All entries of a manifest, also those of status DELETED, with inherited values.

        Raises NotFoundError, CorruptionError, or UnsupportedError for encryption.
        """
        columns = self.columns(io, manifest, metadata)

        def load() -> tuple[tuple[ManifestEntry, ...], int]:
            if columns is not None:
                entries = tuple(entry for part in columns for entry in part.entries())
            else:
                data = _read(io, manifest.path, "manifest")
                entries = tuple(decode_manifest(data, manifest, schema=metadata.schema(), specs=metadata.specs_by_id()))
            return entries, _memory_size(entries)

        return self._entries.load_once(_key(manifest), load)

    def read(self, io: FileIO, manifest: ManifestFile) -> bytes:
        """The bytes of a manifest, which are not kept. Raises NotFoundError, or UnsupportedError for encryption."""
        if manifest.key_metadata is not None:
            raise _encrypted("manifest", manifest.path)
        return _read(io, manifest.path, "manifest")

    def live_entries(self, io: FileIO, manifest: ManifestFile, metadata: TableMetadata) -> list[ManifestEntry]:
        """The entries of a manifest that are not of status DELETED. Raises as `entries`."""
        return [entry for entry in self.entries(io, manifest, metadata) if entry.is_live]

    def entries_of(
        self, io: FileIO, manifests: Iterable[ManifestFile], metadata: TableMetadata
    ) -> Iterator[ManifestEntry]:
        """`entries` of all manifests, of which a store is asked for several at a time. Raises as `entries`."""
        manifests = tuple(manifests)
        each = each_decoded(io, [one.path for one in manifests if is_object(one.path) and not self._holds(one)])
        return chain.from_iterable(each(lambda one: self.entries(io, one, metadata), manifests))

    def live_entries_of(
        self, io: FileIO, manifests: Iterable[ManifestFile], metadata: TableMetadata
    ) -> Iterator[ManifestEntry]:
        """Those of `entries_of` that are not of status DELETED. Raises as `entries`."""
        return (entry for entry in self.entries_of(io, manifests, metadata) if entry.is_live)

    def contents(
        self, io: FileIO, manifests: Sequence[ManifestFile], metadata: TableMetadata
    ) -> Iterator[ManifestContents]:
        """The contents of each manifest, as columns where these cost less. Several are read and decoded at a time.
        Raises as `entries`."""
        slow = [one for one in manifests if is_object(one.path) or _entry_count(one) >= _FEWEST_FOR_THREADS]
        each = each_decoded(io, [one.path for one in slow if not self._holds(one)])
        return iter(each(lambda one: self._contents(io, one, metadata), manifests))

    def _contents(self, io: FileIO, manifest: ManifestFile, metadata: TableMetadata) -> ManifestContents:
        columns = self.columns(io, manifest, metadata)
        return ManifestContents(columns, self.entries(io, manifest, metadata) if columns is None else ())

    def _holds(self, manifest: ManifestFile) -> bool:
        return self._columns.holds(_key(manifest)) or self._entries.holds(_key(manifest))

    def matching_entries(
        self,
        io: FileIO,
        manifests: Sequence[ManifestFile],
        metadata: TableMetadata,
        files: FileFilter,
        *,
        with_metrics: bool = True,
    ) -> list[ManifestEntry]:
        """The live entries of `manifests` whose files may match `files`. Raises as `entries`.

        Without `with_metrics` entries of large manifests have no metrics, which saves two thirds of their cost.
        """
        found: list[ManifestEntry] = []
        elsewhere = self._read_elsewhere(manifests, _MatchingEntries.of(io, metadata, files, with_metrics))
        here = self.contents(io, [one for one in manifests if _key(one) not in elsewhere], metadata)
        for manifest in manifests:
            if _key(manifest) in elsewhere:
                found += elsewhere[_key(manifest)]
                continue
            contents = next(here)
            if contents.columns is None:
                found += [entry for entry in contents.live_entries() if files.file_may_match(entry.file)]
                continue
            for part in contents.columns:
                rows = np.flatnonzero(files.files_may_match(part)).tolist()
                found += part.entries(rows, with_metrics=with_metrics)
        return found

    def _read_elsewhere(
        self, manifests: Sequence[ManifestFile], read: _MatchingEntries
    ) -> dict[_ManifestKey, list[ManifestEntry]]:
        """Results of `read` for manifests that are not cached, if these are too many bytes for this process."""
        if self._elsewhere is None:
            return {}
        far = [one for one in manifests if not self._holds(one)]
        if sum(one.length for one in far) <= self._driver_bytes:
            return {}
        return dict(zip(map(_key, far), self._elsewhere(far, read), strict=True))

    def columns(
        self, io: FileIO, manifest: ManifestFile, metadata: TableMetadata
    ) -> tuple[ManifestColumns, ...] | None:
        """The entries of a manifest as columns; None for few entries, or if they cannot be decoded so.

        Raises NotFoundError, or UnsupportedError for encryption.
        """
        if manifest.key_metadata is not None:
            raise _encrypted("manifest", manifest.path)
        if _entry_count(manifest) < _FEWEST_FOR_COLUMNS:
            return None

        def load() -> tuple[tuple[ManifestColumns, ...] | None, int]:
            data = _read(io, manifest.path, "manifest")
            try:
                parts = decode_manifest_columns(data, manifest, schema=metadata.schema(), specs=metadata.specs_by_id())
            except NotColumnar:
                return None, 0
            return parts, sum(part.nbytes for part in parts)

        return self._columns.load_once(_key(manifest), load)


@dataclass(frozen=True, slots=True)
class _MatchingEntries:
    """`ManifestCache.matching_entries` of one manifest as a picklable function."""

    io: FileIO
    metadata: TableMetadata
    files: FileFilter
    with_metrics: bool

    @classmethod
    def of(cls, io: FileIO, metadata: TableMetadata, files: FileFilter, with_metrics: bool) -> _MatchingEntries:
        """The function without the table's history, which it does not need and which would be sent, too."""
        bare = replace(
            metadata, snapshots=(), snapshot_log=(), metadata_log=(), refs={}, statistics=(), partition_statistics=()
        )
        return cls(io, bare, files, with_metrics)

    def __call__(self, manifest: ManifestFile) -> list[ManifestEntry]:
        nothing_kept = ManifestCache(0)
        return nothing_kept.matching_entries(
            self.io, [manifest], self.metadata, self.files, with_metrics=self.with_metrics
        )


def _weighed(manifests: tuple[ManifestFile, ...]) -> tuple[tuple[ManifestFile, ...], int]:
    return manifests, _ENTRY_BYTES * (len(manifests) + 1)


def _key(manifest: ManifestFile) -> _ManifestKey:
    return manifest.path, manifest.first_row_id, manifest.sequence_number


def _entry_count(manifest: ManifestFile) -> int:
    """The number of a manifest's entries, estimated by its length if counts are missing."""
    counts = (manifest.added_files_count, manifest.existing_files_count, manifest.deleted_files_count)
    if None in counts:
        return manifest.length // _COMPRESSED_ENTRY_BYTES
    return sum(count for count in counts if count is not None)


def data_file_count(manifests: Iterable[ManifestFile]) -> int:
    """The number of live data files, by a manifest list; estimated where a list of format version 1 lacks counts."""
    data = [one for one in manifests if one.content == ManifestContent.DATA]
    return sum(_entry_count(one) - (one.deleted_files_count or 0) for one in data)


def _embedded_manifest(io: FileIO, path: str) -> ManifestFile:
    """A manifest that a snapshot of format version 1 lists itself. Its spec id is only in its header."""
    data = _read(io, path, "manifest")
    try:
        header, _ = avro_file.decode_header(data)
        spec_id = int(header.get("partition-spec-id", b"0"))
    except Exception as error:  # a damaged file may raise nearly any exception
        raise CorruptionError("CORRUPT_FILE", path=path, kind="manifest", reason=error) from error
    unknown = (None,) * 6
    return ManifestFile(path, len(data), spec_id, ManifestContent.DATA, 0, 0, 0, *unknown)


def _read(io: FileIO, path: str, kind: str) -> bytes:
    try:
        return io.read(path)
    except FileNotFoundError as error:
        raise NotFoundError("FILE_NOT_FOUND", path=path, kind=kind) from error


def _encrypted(kind: str, path: str) -> UnsupportedError:
    return UnsupportedError("UNSUPPORTED_TABLE_FEATURE", feature=f"encryption (of the {kind} {path})")


def _memory_size(entries: tuple[ManifestEntry, ...]) -> int:
    if not entries:
        return _ENTRY_BYTES
    sample = entries[:: max(1, len(entries) // 20)]
    metrics = sum(
        len(metric)
        for file in (entry.file for entry in sample)
        for metric in (
            file.column_sizes,
            file.value_counts,
            file.null_value_counts,
            file.nan_value_counts,
            file.lower_bounds,
            file.upper_bounds,
        )
        if metric
    )
    return len(entries) * (_ENTRY_BYTES + _METRIC_BYTES * metrics // len(sample))
