"""Deletion vectors, read from Puffin files (spec: "Deletion Vectors")."""

from __future__ import annotations

import os
from dataclasses import dataclass

from pyroaring import BitMap64

from sqlext.errors import CorruptionError, NotFoundError
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.deletion_vector import decode_deletion_vector
from sqlext.storage.file_io import FileIO

_KIND = "deletion vector"


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
    """The deletion vector of a manifest entry, with the bitmap's bytes as in the Puffin file.

    Raises NotFoundError or CorruptionError naming the Puffin file, also if the entry's record count is wrong.
    """
    offset, length = file.content_offset, file.content_size_in_bytes
    try:
        if offset is None or length is None or offset < 0 or length < 0:
            raise ValueError("its entry has no place of the deletion vector")
        with io.open_input(file.file_path) as source:
            if offset + length > source.seek(0, os.SEEK_END):
                raise ValueError("the deletion vector lies behind the end of the file")
            source.seek(offset)
            bitmap = decode_deletion_vector(source.read(length))
        count = len(BitMap64.deserialize(bitmap))
        if count != file.record_count:
            raise ValueError(f"the deletion vector has {count} positions where {file.record_count} are recorded")
        return DeletedPositions(bitmap, count)
    except FileNotFoundError as error:
        raise NotFoundError("FILE_NOT_FOUND", path=file.file_path, kind=_KIND) from error
    except (ValueError, IndexError, OverflowError, OSError) as error:
        raise CorruptionError("CORRUPT_FILE", path=file.file_path, kind=_KIND, reason=error) from error
