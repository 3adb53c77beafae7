"""Local files with Hadoop's checksums beside them: each changed byte that is read is found."""

from __future__ import annotations

import random
import struct
import zlib
from pathlib import Path

import pytest

from sqlext.errors import StorageError
from sqlext.storage.checksummed_io import ChecksummedIO

CHUNK = 512


def summed(folder: Path, data: bytes) -> Path:
    """A file with the checksums that Hadoop's ChecksumFileSystem writes."""
    path = folder / "f.parquet"
    path.write_bytes(data)
    sums = [zlib.crc32(data[start : start + CHUNK]) for start in range(0, len(data), CHUNK)]
    (folder / ".f.parquet.crc").write_bytes(struct.pack(f">4sI{len(sums)}I", b"crc\0", CHUNK, *sums))
    return path


@pytest.mark.parametrize("size", [0, 1, CHUNK, CHUNK + 1, 10 * CHUNK, 10 * CHUNK + 7])
def test_reads_are_those_of_the_file(tmp_path: Path, size: int) -> None:
    rng = random.Random(size)
    data = rng.randbytes(size)
    path = summed(tmp_path, data)
    assert ChecksummedIO().read(str(path)) == data
    with ChecksummedIO().open_input(str(path)) as file:
        for _ in range(200):
            start, count = rng.randrange(size + 2), rng.randrange(size + 2)
            file.seek(start)
            assert file.read(count) == data[start : start + count]
            assert file.tell() == max(start, min(start + count, size)) or start > size
        file.seek(-min(8, size), 2)
        assert file.read() == data[-8:]


def test_a_changed_byte_is_found_where_it_is_read(tmp_path: Path) -> None:
    data = bytearray(random.Random(1).randbytes(5 * CHUNK))
    path = summed(tmp_path, data)
    data[2 * CHUNK + 3] ^= 4
    path.write_bytes(data)
    with ChecksummedIO().open_input(str(path)) as file:
        assert file.read(2 * CHUNK) == data[: 2 * CHUNK]
        with pytest.raises(OSError, match="are of other bytes"):
            file.read(1)
        file.seek(3 * CHUNK)
        assert file.read() == data[3 * CHUNK :]
    with pytest.raises(OSError, match="are of other bytes"):
        ChecksummedIO().read(str(path))


@pytest.mark.parametrize("beside", [b"", b"crc", b"crc\0\0\0\0\0", b"xxx\0\0\0\2\0" + bytes(4)])
def test_other_files_beside_it_are_an_error(tmp_path: Path, beside: bytes) -> None:
    path = summed(tmp_path, b"abc")
    (tmp_path / ".f.parquet.crc").write_bytes(beside)
    with pytest.raises(OSError, match="are of another format"):
        ChecksummedIO().read(str(path))


def test_a_checksum_that_is_missing_is_a_wrong_one(tmp_path: Path) -> None:
    """A file that has grown."""
    path = summed(tmp_path, bytes(CHUNK))
    path.write_bytes(bytes(2 * CHUNK))
    with pytest.raises(OSError, match="are of other bytes"):
        ChecksummedIO().read(str(path))


def test_a_file_without_checksums_is_read(tmp_path: Path) -> None:
    (tmp_path / "g").write_bytes(b"abc")
    assert ChecksummedIO().read(str(tmp_path / "g")) == b"abc"
    with pytest.raises((FileNotFoundError, StorageError)):
        ChecksummedIO().read(str(tmp_path / "absent"))
