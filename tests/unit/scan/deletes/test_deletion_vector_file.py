"""Deletion vectors out of Puffin files, and what they leave of a data file."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyroaring import BitMap64

from sqlext.errors import CorruptionError, NotFoundError
from sqlext.scan.deletes.deleted_positions import leaves_no_row
from sqlext.scan.deletes.deletion_vector_file import DeletedPositions, read_deletion_vector
from sqlext.scan.deletes.position_delete import PositionDeleteCache
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.deletion_vector import BLOB_TYPE, encode_deletion_vector
from sqlext.spec.manifests.puffin import NewBlob, encode_puffin
from unit.scan.small_table import RecordingIO, data_file, position_delete_file


def vectors(folder: Path, *bitmaps: BitMap64) -> list[ContentFile]:
    """Writes one Puffin file; the entry of each vector."""
    blobs = [NewBlob(BLOB_TYPE, encode_deletion_vector(bitmap.serialize())) for bitmap in bitmaps]
    file = encode_puffin(blobs, created_by="test")
    data, placed = file.data, file.blobs
    (folder / "v.puffin").write_bytes(data)
    return [
        position_delete_file(
            str(folder / "v.puffin"),
            file_format="PUFFIN",
            record_count=len(bitmap),
            content_offset=blob.offset,
            content_size_in_bytes=blob.length,
        )
        for bitmap, blob in zip(bitmaps, placed, strict=True)
    ]


def test_vectors_of_one_file_are_kept_apart(tmp_path: Path) -> None:
    first, second = BitMap64([1, 7]), BitMap64([2**35])
    io, cache = RecordingIO(), PositionDeleteCache()
    files = vectors(tmp_path, first, second)
    for _ in range(2):
        assert [cache.vector(io, file) for file in files] == [DeletedPositions.of(first), DeletedPositions.of(second)]
    assert io.opened == ["v.puffin", "v.puffin"]


def test_a_vector_that_is_not_there_or_damaged_is_named(tmp_path: Path) -> None:
    (file,) = vectors(tmp_path, BitMap64([1, 2]))
    for changes in (
        {"content_offset": None},
        {"content_offset": -1},
        {"content_offset": 5},
        {"content_size_in_bytes": 10**12},
        {"content_offset": 2**70},
        {"record_count": 3},
    ):
        bad = position_delete_file(**{"path": file.file_path, **_fields(file), **changes})
        with pytest.raises(CorruptionError) as damaged:
            read_deletion_vector(RecordingIO(), bad)
        assert damaged.value.parameters["path"] == file.file_path
    (tmp_path / "v.puffin").unlink()
    with pytest.raises(NotFoundError):
        read_deletion_vector(RecordingIO(), file)


def test_whether_a_row_is_left() -> None:
    file = data_file("f", rows=3)
    assert not leaves_no_row(file, None)
    assert not leaves_no_row(file, DeletedPositions.of(BitMap64([0, 1])))
    assert not leaves_no_row(file, DeletedPositions.of(BitMap64([0, 1, 7])))
    assert leaves_no_row(file, DeletedPositions.of(BitMap64([0, 1, 2])))


def _fields(file: ContentFile) -> dict[str, object]:
    names = ("file_format", "record_count", "content_offset", "content_size_in_bytes")
    return {name: getattr(file, name) for name in names}
