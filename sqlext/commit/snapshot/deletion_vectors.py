"""The deletion vectors of a commit, one per data file, with all earlier deletes of it (spec: Deletion Vectors).

A vector replaces the data file's previous one, so it is made again if another commit wrote one first: an attempt writes
a Puffin file unless an earlier attempt found the same delete files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyroaring import BitMap64

from sqlext.commit.action import CommitContext
from sqlext.commit.snapshot.engine import ENGINE_NAME, ENGINE_VERSION
from sqlext.commit.snapshot.head_position_deletes import position_delete_index
from sqlext.commit.snapshot.own_files import create_own_file
from sqlext.properties import DATA_PATH
from sqlext.scan.deletes.delete_file_index import referenced_data_file
from sqlext.scan.deletes.deleted_positions import deleted_positions
from sqlext.scan.deletes.position_delete import PositionDeleteCache
from sqlext.scan.files.file_columns import PARQUET
from sqlext.spec.manifests.content_file import PUFFIN, Content, ContentFile, ContentKey
from sqlext.spec.manifests.deletion_vector import BLOB_TYPE, CARDINALITY, REFERENCED_DATA_FILE, encode_deletion_vector
from sqlext.spec.manifests.manifest import EntryStatus, ManifestEntry
from sqlext.spec.manifests.puffin import BlobMetadata, NewBlob, encode_puffin
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.location import data_location, join, metadata_location

_ROW_POSITION_ID = 2147483645


@dataclass(frozen=True, slots=True)
class DeletedRows:
    """Positions of deleted rows of one data file, which is in `partition` of a spec."""

    spec_id: int
    partition: tuple[Any, ...]
    positions: BitMap64

    def data_file(self, path: str) -> ContentFile:
        """The data file at `path`, with its partition and without metrics."""
        return ContentFile(Content.DATA, path, PARQUET, self.spec_id, self.partition, 0, 0)


@dataclass(frozen=True, slots=True)
class StagedVectors:
    """New vectors and the delete files that they replace."""

    added: tuple[ContentFile, ...] = ()
    superseded: frozenset[ContentKey] = frozenset()


class VectorProduction:
    """Makes the vectors of one commit, for the base of each attempt."""

    def __init__(self, context: CommitContext) -> None:
        self._context = context
        self._cache = PositionDeleteCache()
        self._staged: dict[tuple[frozenset[tuple[str, bytes]], frozenset[ContentKey]], StagedVectors] = {}
        self.written: list[str] = []
        """Paths of all Puffin files."""

    def stage(
        self,
        base: TableMetadata,
        parent: Snapshot | None,
        given: Mapping[str, DeletedRows],
        delete_files: Iterable[ContentFile],
    ) -> StagedVectors:
        """The vectors for a table with head `parent` of the rows `given`, by path of the data file, and of those of
        `delete_files`: these are vectors for an earlier version of the table, or position-delete files written before
        its upgrade to format version 3. Raises StorageError, NotFoundError or CorruptionError."""
        deleted = self._deleted(given, delete_files)
        if not deleted:
            return StagedVectors()
        entries = [_data_entry(path, rows) for path, rows in deleted.items()]
        spec_ids = {rows.spec_id for rows in deleted.values()}
        index = position_delete_index(self._context, base, parent, spec_ids)
        applying = {entry.file.file_path: index.position_deletes(entry) for entry in entries}
        before_them = frozenset(delete.file.key for deletes in applying.values() for delete in deletes)
        found = frozenset((path, rows.positions.serialize()) for path, rows in deleted.items()), before_them
        if found not in self._staged:
            before = deleted_positions(self._context.io, entries, index, self._cache)
            rows = {
                path: replace(own, positions=own.positions | before[path].positions()) if path in before else own
                for path, own in deleted.items()
            }
            superseded = frozenset(
                delete.file.key
                for path, deletes in applying.items()
                for delete in deletes
                if referenced_data_file(delete.file) == path
            )
            self._staged[found] = StagedVectors(self._write(base, rows), superseded)
        return self._staged[found]

    def _deleted(
        self, given: Mapping[str, DeletedRows], delete_files: Iterable[ContentFile]
    ) -> Mapping[str, DeletedRows]:
        deleted = {path: rows for path, rows in given.items() if rows.positions}
        for file in delete_files:
            for path, positions in self._positions(file).items():
                known = deleted[path].positions if path in deleted else BitMap64()
                deleted[path] = DeletedRows(file.spec_id, file.partition, positions | known)
        return deleted

    def _positions(self, file: ContentFile) -> Mapping[str, BitMap64]:
        io, path = self._context.io, file.referenced_data_file
        if file.is_deletion_vector and path is not None:
            return {path: self._cache.vector(io, file).positions()}
        return self._cache.positions(io, file)

    def _write(self, base: TableMetadata, deleted: Mapping[str, DeletedRows]) -> tuple[ContentFile, ...]:
        """Writes one Puffin file with a vector for each data file."""
        paths = sorted(deleted)
        blobs = [_blob(path, deleted[path].positions) for path in paths]
        file = encode_puffin(blobs, created_by=f"{ENGINE_NAME} {ENGINE_VERSION}")
        name = f"{self._context.commit_id}-{len(self.written) + 1:05d}-deletes.puffin"
        location = join(data_location(base), name)
        # Noted before the write, so that an interrupted one is cleaned up too.
        self.written.append(location)
        self._create(location, file.data, base)
        return tuple(
            _vector(location, len(file.data), path, deleted[path], blob)
            for path, blob in zip(paths, file.blobs, strict=True)
        )

    def _create(self, location: str, data: bytes, base: TableMetadata) -> None:
        """Creates folders only in an existing table: a dropped table's folder must not reappear."""
        io = self._context.io
        try:
            create_own_file(io, location, data, make_folders=DATA_PATH.name in base.properties)
        except FileNotFoundError:
            if next(io.list(metadata_location(base)), None) is None:
                raise
            create_own_file(io, location, data)


def _data_entry(path: str, rows: DeletedRows) -> ManifestEntry:
    """The data file with sequence number 0, so that every delete that names it applies."""
    return ManifestEntry(EntryStatus.EXISTING, None, 0, 0, rows.data_file(path))


def _blob(path: str, positions: BitMap64) -> NewBlob:
    compact = positions.copy()
    compact.run_optimize()
    properties = {REFERENCED_DATA_FILE: path, CARDINALITY: str(len(positions))}
    return NewBlob(BLOB_TYPE, encode_deletion_vector(compact.serialize()), (_ROW_POSITION_ID,), properties)


def _vector(location: str, size: int, path: str, rows: DeletedRows, blob: BlobMetadata) -> ContentFile:
    return ContentFile(
        content=Content.POSITION_DELETES,
        file_path=location,
        file_format=PUFFIN,
        spec_id=rows.spec_id,
        partition=rows.partition,
        record_count=len(rows.positions),
        file_size_in_bytes=size,
        referenced_data_file=path,
        content_offset=blob.offset,
        content_size_in_bytes=blob.length,
    )
