"""Deletion vectors, read from Puffin files (spec: "Deletion Vectors")."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyroaring import BitMap64

from sqlext.errors import CorruptionError, NotFoundError
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.deletion_vector import decode_deletion_vector
from sqlext.storage.file_io import FileIO

_KIND = "deletion vector"
# A store takes as long to answer a further request as to send so many bytes.
_GAP_BYTES = 256 * 1024
_RUN_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class DeletedPositions:
    """Deleted positions of one data file: a portable 64-bit roaring bitmap, and their number."""

    bitmap: bytes
    count: int

    def positions(self) -> BitMap64:
        """The positions as a set."""
        return BitMap64.deserialize(self.bitmap)

    @classmethod
    def of(cls, positions: BitMap64) -> DeletedPositions:
        return cls(positions.serialize(), len(positions))


def read_deletion_vector(io: FileIO, file: ContentFile) -> DeletedPositions:
    """The deletion vector of a manifest entry. Raises as `read_deletion_vectors`."""
    (vector,) = read_deletion_vectors(io, [file])
    return vector


def read_deletion_vectors(io: FileIO, files: Sequence[ContentFile]) -> list[DeletedPositions]:
    """The deletion vectors of manifest entries of one Puffin file, with the bitmaps' bytes as in the file. Vectors that
    are near each other in the file are read together.

    Raises NotFoundError or CorruptionError naming the Puffin file, also if an entry's record count is wrong.
    """
    path = files[0].file_path
    found: dict[range, DeletedPositions] = {}
    try:
        with io.open_input(path) as source:
            size = source.seek(0, os.SEEK_END)
            places = [_place(file, size) for file in files]
            for run in _runs(places):
                start = run[0].start
                source.seek(start)
                data = source.read(run[-1].stop - start)
                for place in run:
                    found[place] = _decoded(data[place.start - start : place.stop - start])
        return [_checked(found[place], file) for place, file in zip(places, files, strict=True)]
    except FileNotFoundError as error:
        raise NotFoundError("FILE_NOT_FOUND", path=path, kind=_KIND) from error
    except (ValueError, IndexError, OverflowError, OSError) as error:
        raise CorruptionError("CORRUPT_FILE", path=path, kind=_KIND, reason=error) from error


def _place(file: ContentFile, size: int) -> range:
    """Where the vector is in its file of `size` bytes."""
    offset, length = file.content_offset, file.content_size_in_bytes
    if offset is None or length is None or offset < 0 or length < 0:
        raise ValueError("its entry has no place of the deletion vector")
    if offset + length > size:
        raise ValueError("the deletion vector lies behind the end of the file")
    return range(offset, offset + length)


def _runs(places: Iterable[range]) -> Iterator[list[range]]:
    """The places in their order, those together that one read of the file gets."""
    run: list[range] = []
    for place in sorted(places, key=lambda one: (one.start, one.stop)):
        if run and (place.start > run[-1].stop + _GAP_BYTES or place.stop > run[0].start + _RUN_BYTES):
            yield run
            run = []
        run.append(place)
    if run:
        yield run


def _decoded(blob: bytes) -> DeletedPositions:
    bitmap = decode_deletion_vector(blob)
    return DeletedPositions(bitmap, len(BitMap64.deserialize(bitmap)))


def _checked(vector: DeletedPositions, file: ContentFile) -> DeletedPositions:
    if vector.count != file.record_count:
        raise ValueError(f"the deletion vector has {vector.count} positions where {file.record_count} are recorded")
    return vector
