"""Deleted positions of data files at a snapshot, from position-delete files and deletion vectors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from pyroaring import BitMap64

from sqlext.scan.deletes.delete_file_index import DeleteFileIndex
from sqlext.scan.deletes.deletion_vector_file import DeletedPositions
from sqlext.scan.deletes.position_delete import PositionDeleteCache
from sqlext.scan.files.readable_files import require_readable
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.manifest import ManifestEntry
from sqlext.storage.file_io import FileIO

_Applied: TypeAlias = list[tuple[str, ContentFile]]
"""Of one delete file: the paths of data files to which it may apply, each with an entry of the delete file, of which a
Puffin file has one for each vector."""


def deleted_positions(
    io: FileIO, data: Iterable[ManifestEntry], index: DeleteFileIndex, cache: PositionDeleteCache
) -> dict[str, DeletedPositions]:
    """Deleted positions by data file path. A delete file is read once, and only if it may apply to one of `data`.

    Raises UnsupportedError, NotFoundError or CorruptionError naming the delete file.
    """
    if not index:
        return {}
    by_file = _applied(data, index)

    def read(pairs: _Applied) -> list[tuple[str, BitMap64 | DeletedPositions]]:
        """What a delete file says of data files."""
        if pairs[0][1].is_deletion_vector:
            vectors = cache.vectors(io, [file for _, file in pairs])
            return [(of, vector) for (of, _), vector in zip(pairs, vectors, strict=True)]
        positions = cache.positions(io, pairs[0][1])
        return [(of, positions[of]) for of, _ in pairs if of in positions]

    vectors: dict[str, DeletedPositions] = {}
    bitmaps: dict[str, BitMap64] = {}
    for found in cache.each(io, [pairs[0][1] for pairs in by_file])(read, by_file):
        for path, positions in found:
            if isinstance(positions, DeletedPositions):
                vectors[path] = positions
            else:
                bitmaps[path] = bitmaps[path] | positions if path in bitmaps else positions
    return {**vectors, **{path: DeletedPositions.of(positions) for path, positions in bitmaps.items()}}


def _applied(data: Iterable[ManifestEntry], index: DeleteFileIndex) -> list[_Applied]:
    by_file: dict[tuple[str, bool], _Applied] = {}
    for entry in data:
        for delete in index.position_deletes(entry):
            require_readable(delete.file)
            key = delete.file.file_path, delete.file.is_deletion_vector
            by_file.setdefault(key, []).append((entry.file.file_path, delete.file))
    return list(by_file.values())


def leaves_no_row(file: ContentFile, deleted: DeletedPositions | None) -> bool:
    """Whether all rows of a data file are deleted; deleted positions after its last row do not count.

    False for a negative record count, which some writers use for an unknown one.
    """
    if deleted is None or not 0 <= file.record_count <= deleted.count:
        return False
    return bool(deleted.positions().range_cardinality(0, file.record_count) == file.record_count)
