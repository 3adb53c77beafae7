"""Deleted positions of data files at a snapshot, from position-delete files and deletion vectors."""

from __future__ import annotations

from collections.abc import Iterable

from pyroaring import BitMap64

from sqlext.scan.deletes.delete_file_index import DeleteFileIndex
from sqlext.scan.deletes.deletion_vector_file import DeletedPositions
from sqlext.scan.deletes.position_delete import PositionDeleteCache
from sqlext.scan.files.readable_files import require_readable
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.manifest import ManifestEntry
from sqlext.storage.file_io import FileIO


def deleted_positions(
    io: FileIO, data: Iterable[ManifestEntry], index: DeleteFileIndex, cache: PositionDeleteCache
) -> dict[str, DeletedPositions]:
    """Deleted positions by data file path. A delete file is read once, and only if it may apply to one of `data`.

    Raises UnsupportedError, NotFoundError or CorruptionError naming the delete file.
    """
    if not index:
        return {}
    found: dict[str, DeletedPositions] = {}
    wanted: dict[str, tuple[ContentFile, list[str]]] = {}
    for entry in data:
        for delete in index.position_deletes(entry):
            require_readable(delete.file)
            if delete.file.is_deletion_vector:
                found[entry.file.file_path] = cache.vector(io, delete.file)
            else:
                _, paths = wanted.setdefault(delete.file.file_path, (delete.file, []))
                paths.append(entry.file.file_path)
    bitmaps: dict[str, BitMap64] = {}
    for file, paths in wanted.values():
        positions = cache.positions(io, file)
        for path in paths:
            if path in positions:
                bitmaps[path] = bitmaps[path] | positions[path] if path in bitmaps else positions[path]
    return {**found, **{path: DeletedPositions.of(positions) for path, positions in bitmaps.items()}}


def leaves_no_row(file: ContentFile, deleted: DeletedPositions | None) -> bool:
    """Whether all rows of a data file are deleted; deleted positions after its last row do not count.

    False for a negative record count, which some writers use for an unknown one.
    """
    if deleted is None or not 0 <= file.record_count <= deleted.count:
        return False
    return bool(deleted.positions().range_cardinality(0, file.record_count) == file.record_count)
