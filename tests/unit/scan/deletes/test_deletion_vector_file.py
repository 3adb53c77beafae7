"""Deletion vectors out of Puffin files, and what they leave of a data file."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from pyroaring import BitMap64

from sqlext.errors import CorruptionError, NotFoundError
from sqlext.scan.deletes.delete_file_index import DeleteFileIndex
from sqlext.scan.deletes.deleted_positions import deleted_positions, leaves_no_row
from sqlext.scan.deletes.deletion_vector_file import DeletedPositions, read_deletion_vector, read_deletion_vectors
from sqlext.scan.deletes.position_delete import PositionDeleteCache
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.deletion_vector import BLOB_TYPE, encode_deletion_vector
from sqlext.spec.manifests.manifest import EntryStatus, ManifestEntry
from sqlext.spec.manifests.puffin import NewBlob, encode_puffin
from unit.scan.small_table import MeetingIO, RecordingIO, SmallTable, data_file, position_delete_file


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


def test_vectors_that_are_near_each_other_are_read_together(tmp_path: Path) -> None:
    bitmaps = [BitMap64([number]) for number in range(50)]
    files = vectors(tmp_path, *bitmaps)
    rng = random.Random(1)
    for _ in range(20):
        some = rng.choices(range(50), k=rng.randint(1, 50))
        io = RecordingIO()
        found = read_deletion_vectors(io, [files[number] for number in some])
        assert found == [DeletedPositions.of(bitmaps[number]) for number in some]
        assert io.opened == ["v.puffin"]


@pytest.mark.parametrize("size", [300_000, 9_000_000])
def test_vectors_that_are_far_from_each_other(tmp_path: Path, size: int) -> None:
    """With more than a gap between the first and the last, and with more in all than one read gets."""
    wide = BitMap64(range(0, size * 16, 2))
    bitmaps = [BitMap64([1]), wide, BitMap64([2]), wide, BitMap64([3])]
    files = vectors(tmp_path, *bitmaps)
    for some in ([0, 2, 4], [4, 0], [0, 1, 2, 3, 4]):
        found = read_deletion_vectors(RecordingIO(), [files[number] for number in some])
        assert found == [DeletedPositions.of(bitmaps[number]) for number in some]


def test_delete_files_are_read_several_at_a_time(tmp_path: Path) -> None:
    table = SmallTable(tmp_path)
    by_vector = vectors(tmp_path, BitMap64([1]), BitMap64([2]))
    deletes = [replace(file, referenced_data_file=f"v{number}") for number, file in enumerate(by_vector)]
    for name in ("one", "two", "three"):
        path = table.position_deletes(f"{name}.parquet", {name: [5], "both": [len(name)]})
        deletes.append(position_delete_file(path))
    data = [ManifestEntry(EntryStatus.ADDED, 1, 1, 1, data_file(name)) for name in ("v0", "v1", "one", "two", "both")]
    for io, of in ((RecordingIO(), str(tmp_path)), (MeetingIO(tmp_path), "s3://bucket")):
        placed = [replace(one, file_path=f"{of}/{Path(one.file_path).name}") for one in deletes]
        entries = [ManifestEntry(EntryStatus.ADDED, 1, 2, 2, one) for one in placed]
        index = DeleteFileIndex(entries, specs=table.metadata.specs_by_id(), columns={})
        found = deleted_positions(io, data, index, PositionDeleteCache())
        assert {path: list(one.positions()) for path, one in found.items()} == {
            "v0": [1], "v1": [2], "one": [5], "two": [5], "both": [3, 5]
        }  # fmt: skip


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
