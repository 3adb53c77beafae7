"""Puffin files and the deletion vectors in them, against those that Iceberg wrote and by PyIceberg's reader."""

from __future__ import annotations

import zipfile
from pathlib import Path
from random import Random

import pytest
from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile
from pyroaring import BitMap64

from sqlext.spec.manifests.deletion_vector import BLOB_TYPE, decode_deletion_vector, encode_deletion_vector
from sqlext.spec.manifests.puffin import NewBlob, encode_puffin

ARCHIVE = Path(__file__).parents[3] / "golden_tables" / "golden_dev.zip"


def icebergs_files() -> list[bytes]:
    with zipfile.ZipFile(ARCHIVE) as archive:
        return [archive.read(name) for name in archive.namelist() if name.endswith(".puffin")]


def test_icebergs_vectors_are_read_and_written_as_they_are() -> None:
    vectors = [
        (blob, data[blob.offset : blob.offset + blob.length])
        for data in icebergs_files()
        for blob in PuffinFile(data).footer.blobs
        if blob.type == BLOB_TYPE
    ]
    assert vectors
    for blob, data in vectors:
        positions = BitMap64.deserialize(decode_deletion_vector(data))
        assert str(len(positions)) == blob.properties["cardinality"]
        assert encode_deletion_vector(positions.serialize()) == data


def test_what_is_written_is_read_by_pyiceberg() -> None:
    random = Random(3)
    bitmaps = {f"f{n}": BitMap64(random.choice((0, 2**33)) + random.randrange(10**6) for _ in range(n)) for n in (1, 9)}
    blobs = [
        NewBlob(BLOB_TYPE, encode_deletion_vector(bitmap.serialize()), (1,), {"referenced-data-file": path})
        for path, bitmap in bitmaps.items()
    ]
    file = encode_puffin(blobs, created_by="test")
    theirs = PuffinFile(file.data)
    found = [(blob.type, blob.offset, blob.length, tuple(blob.fields)) for blob in theirs.footer.blobs]
    assert found == [(blob.type, blob.offset, blob.length, blob.fields) for blob in file.blobs]
    vectors = deletion_vectors_from_puffin_file(theirs)
    assert {one.referenced_data_file: set(one.to_vector().to_pylist()) for one in vectors} == {
        path: set(bitmap) for path, bitmap in bitmaps.items()
    }


def test_a_damaged_vector_is_refused() -> None:
    data = encode_deletion_vector(BitMap64([1, 5, 2**40]).serialize())
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1
        with pytest.raises(ValueError, match="deletion vector"):
            decode_deletion_vector(bytes(damaged))
    for length in range(len(data)):
        with pytest.raises(ValueError, match="deletion vector"):
            decode_deletion_vector(data[:length])
