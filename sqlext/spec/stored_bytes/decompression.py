"""Decompression with a limit on its output, so that a small damaged or hostile file cannot exhaust memory.

Metadata and manifests compress by a factor of 5 to 40; deflate and zstd can reach 1000. An Avro block normally has
16 kB to a few megabytes, so the size of a block is limited whatever its factor.
"""

from __future__ import annotations

import zlib

import pyarrow as pa

MAX_TIMES = 100
ALWAYS_ALLOWED_BYTES = 4 * 1024 * 1024
MAX_BLOCK_BYTES = 64 * 1024 * 1024

_PIECE_BYTES = 1024 * 1024
_CHECKSUM_BYTES = 4
_MOST_VARINT_BYTES = 5
_RAW, _GZIP = -15, 31


def gunzip(data: bytes) -> bytes:
    """The content of a gzip file of one or more members. Raises ValueError for too large a content, EOFError for a
    truncated file, zlib.error for a damaged one."""
    plain = []
    room = _limit(data)
    while data:
        member, data = _inflated(data, _GZIP, room)
        room -= len(member)
        plain.append(member)
        data = data.lstrip(b"\0")
    return b"".join(plain)


def gunzip_beginning(data: bytes, size: int) -> bytes:
    """The first `size` bytes of what a gzip file contains; none of a damaged one."""
    try:
        return zlib.decompressobj(_GZIP).decompress(data, size)
    except zlib.error:
        return b""


def inflate(data: bytes) -> bytes:
    """The content of a deflate block of Avro. Raises the errors of `gunzip`."""
    plain, _ = _inflated(data, _RAW, _block_limit(data))
    return plain


def unsnappy(data: bytes) -> bytes:
    """The content of a snappy block of Avro, whose last 4 bytes are its CRC-32. Raises ValueError or an Arrow error."""
    size = _snappy_size(data)
    limit = _block_limit(data)
    if size > limit:
        raise _too_large(data, limit)
    if size == 0:
        plain = b""
    else:
        plain = pa.decompress(data[:-_CHECKSUM_BYTES], decompressed_size=size, codec="snappy", asbytes=True)
    if zlib.crc32(plain) != int.from_bytes(data[-_CHECKSUM_BYTES:], "big"):
        raise ValueError("the checksum of a block is wrong")
    return plain


def unzstd(data: bytes) -> bytes:
    """The content of a zstd block of Avro. Raises ValueError or an Arrow error."""
    plain = []
    room = limit = _block_limit(data)
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as source:
        while piece := source.read(_PIECE_BYTES):
            plain.append(piece)
            room -= len(piece)
            if room < 0:
                raise _too_large(data, limit)
    return b"".join(plain)


def _inflated(data: bytes, wbits: int, room: int) -> tuple[bytes, bytes]:
    """The content of the first stream in `data`, and the bytes after that stream."""
    stream = zlib.decompressobj(wbits)
    plain = stream.decompress(data, room + 1)
    if len(plain) > room:
        raise _too_large(data, room)
    if not stream.eof:
        raise EOFError("its compressed data ends too early")
    return plain, stream.unused_data


def _snappy_size(data: bytes) -> int:
    size = 0
    for position, byte in enumerate(data[:_MOST_VARINT_BYTES]):
        size |= (byte & 0x7F) << (7 * position)
        if byte < 0x80:
            return size
    raise ValueError("a snappy block does not begin with its size")


def _limit(data: bytes) -> int:
    return max(ALWAYS_ALLOWED_BYTES, MAX_TIMES * len(data))


def _block_limit(data: bytes) -> int:
    return min(_limit(data), MAX_BLOCK_BYTES)


def _too_large(data: bytes, limit: int) -> ValueError:
    return ValueError(f"{len(data)} compressed bytes stand for more than {limit}")
