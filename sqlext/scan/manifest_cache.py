"""Manifests of a snapshot and their entries; decoded manifests are kept, since a manifest never changes."""

from __future__ import annotations

from sqlext.errors import CorruptionError, NotFoundError, UnsupportedError
from sqlext.scan.byte_cache import ByteCache
from sqlext.spec import avro_file
from sqlext.spec.manifest import (
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    decode_manifest,
    decode_manifest_list,
)
from sqlext.spec.snapshot import Snapshot
from sqlext.spec.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO

_DEFAULT_CAPACITY = 256 * 1024 * 1024
# By tracemalloc, an entry without metrics takes 825 bytes, and a metric of one column 42 if its number is a small one.
_ENTRY_BYTES = 850
_METRIC_BYTES = 60


class ManifestCache:
    """Decoded manifest lists and manifests by path, for one process; thread-safe."""

    def __init__(self, capacity: int = _DEFAULT_CAPACITY) -> None:
        """`capacity` is in bytes of memory, estimated."""
        self._lists: ByteCache[str, tuple[ManifestFile, ...]] = ByteCache(capacity // 8)
        # By path and first row id: in a table that was upgraded, lists of two snapshots may give it different ones.
        self._entries: ByteCache[tuple[str, int | None], tuple[ManifestEntry, ...]] = ByteCache(capacity)

    def manifests(self, io: FileIO, snapshot: Snapshot) -> tuple[ManifestFile, ...]:
        """The manifests of a snapshot. Raises NotFoundError, CorruptionError, or UnsupportedError if encrypted."""
        if snapshot.embedded_manifests:
            return tuple(_embedded_manifest(io, path) for path in snapshot.embedded_manifests)
        path = snapshot.manifest_list
        if "key-id" in snapshot.extra:
            raise _encrypted("manifest list", path)

        def load() -> tuple[tuple[ManifestFile, ...], int]:
            manifests = tuple(decode_manifest_list(_read(io, path, "manifest list"), path))
            return manifests, _ENTRY_BYTES * (len(manifests) + 1)

        return self._lists.load_once(path, load)

    def entries(self, io: FileIO, manifest: ManifestFile, metadata: TableMetadata) -> tuple[ManifestEntry, ...]:
        """All entries of a manifest, deleted ones too, with what they inherit from it.

        Raises NotFoundError, CorruptionError, or UnsupportedError if encrypted.
        """
        if manifest.key_metadata is not None:
            raise _encrypted("manifest", manifest.path)

        def load() -> tuple[tuple[ManifestEntry, ...], int]:
            data = _read(io, manifest.path, "manifest")
            entries = tuple(decode_manifest(data, manifest, schema=metadata.schema(), specs=metadata.specs_by_id()))
            return entries, _memory_size(entries)

        return self._entries.load_once((manifest.path, manifest.first_row_id), load)

    def live_entries(self, io: FileIO, manifest: ManifestFile, metadata: TableMetadata) -> list[ManifestEntry]:
        """The entries whose files belong to the snapshot."""
        return [entry for entry in self.entries(io, manifest, metadata) if entry.is_live]


def _embedded_manifest(io: FileIO, path: str) -> ManifestFile:
    """A manifest that a version 1 snapshot names itself: only its own header tells its spec."""
    data = _read(io, path, "manifest")
    try:
        header, _ = avro_file.decode_header(data)
        spec_id = int(header.get("partition-spec-id", b"0"))
    except Exception as error:  # damaged Avro can raise nearly anything, and all of it means the same
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
