"""Deletion vectors of a data file that has another one with all of their rows (spec: Deletion Vectors, one a data file,
which replaces the one before)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlext.errors import SqlextError
from sqlext.scan.deletes.delete_file_index import sequence_number
from sqlext.scan.deletes.position_delete import PositionDeleteCache
from sqlext.spec.manifests.content_file import ContentKey
from sqlext.spec.manifests.manifest import ManifestEntry
from sqlext.storage.file_io import FileIO


@dataclass(frozen=True, slots=True)
class TwinVectors:
    """Of data files with several vectors: those that a newer one covers, and the files of which none can be told."""

    covered: frozenset[ContentKey]
    untold: tuple[str, ...]


def twins_among(io: FileIO, deletes: Iterable[ManifestEntry]) -> TwinVectors:
    """Which of the live `deletes` can be removed. Of a data file none can whose newest vector lacks a row of another,
    or of which one cannot be read: which of them holds is not known."""
    of_files: dict[str, list[ManifestEntry]] = defaultdict(list)
    for entry in deletes:
        if entry.file.is_deletion_vector and entry.file.referenced_data_file is not None:
            of_files[entry.file.referenced_data_file].append(entry)
    several = {path: sorted(one, key=sequence_number) for path, one in of_files.items() if len(one) > 1}
    cache = PositionDeleteCache()
    covered = {path: one[:-1] for path, one in several.items() if _covers(io, cache, one[-1], one[:-1])}
    keys = frozenset(entry.file.key for entries in covered.values() for entry in entries)
    return TwinVectors(keys, tuple(path for path in several if path not in covered))


def _covers(io: FileIO, cache: PositionDeleteCache, newest: ManifestEntry, older: Sequence[ManifestEntry]) -> bool:
    if sequence_number(older[-1]) == sequence_number(newest):
        return False
    try:
        rows = cache.vector(io, newest.file).positions()
        return all(cache.vector(io, one.file).positions() <= rows for one in older)
    except (SqlextError, FileNotFoundError):
        return False
