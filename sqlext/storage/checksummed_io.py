"""Local files with the checksums that Hadoop's local file system writes beside them, as `.name.crc`, and compares when
Spark reads them."""

from __future__ import annotations

import errno
import io
import os
import struct
import zlib
from typing import Any, BinaryIO, cast

from sqlext.storage.file_io import LocalFileIO
from sqlext.storage.location import to_local_path

_HEADER = struct.Struct(">4sI")
_MAGIC = b"crc\0"
_SUM_BYTES = 4


class ChecksummedIO(LocalFileIO):
    """Reads files as Hadoop does: OSError for bytes that are not those of a checksum beside them."""

    def read(self, location: str) -> bytes:
        with self.open_input(location) as file:
            return file.read()

    def open_input(self, location: str) -> BinaryIO:
        path = to_local_path(location)
        folder, name = os.path.split(path)
        try:
            with open(os.path.join(folder, f".{name}.crc"), "rb") as beside:
                sums = beside.read()
        except FileNotFoundError:
            return super().open_input(location)
        return cast(BinaryIO, _Checked(super().open_input(location), path, sums))


class _Checked(io.RawIOBase):
    """A file of which each chunk is compared with its checksum when a part of it is read."""

    def __init__(self, file: BinaryIO, path: str, sums: bytes) -> None:
        self._file, self._path, self._sums = file, path, sums
        magic, self._chunk = _HEADER.unpack(sums[: _HEADER.size].ljust(_HEADER.size, b"\0"))
        if magic != _MAGIC or not self._chunk:
            file.close()
            raise self._wrong("are of another format")

    def _wrong(self, what: str) -> OSError:
        return OSError(errno.EIO, f"the checksums beside it {what}", self._path)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: Any) -> int:
        start, wanted = self._file.tell(), len(buffer)
        first = start // self._chunk
        self._file.seek(first * self._chunk)
        data = self._file.read(-(-(start + wanted) // self._chunk) * self._chunk - first * self._chunk)
        self._compare(data, first)
        found = data[start - first * self._chunk :][:wanted]
        buffer[: len(found)] = found
        self._file.seek(start + len(found))
        return len(found)

    def _compare(self, data: bytes, first: int) -> None:
        chunks, view = -(-len(data) // self._chunk), memoryview(data)
        begin = _HEADER.size + _SUM_BYTES * first
        told = self._sums[begin : begin + _SUM_BYTES * chunks]
        made = (zlib.crc32(view[at : at + self._chunk]) for at in range(0, len(data), self._chunk))
        if struct.pack(f">{chunks}I", *made) != told:
            raise self._wrong("are of other bytes")

    def close(self) -> None:
        self._file.close()
        super().close()
