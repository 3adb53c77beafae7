"""Decompression that stops: a few bytes of a damaged or hostile file must not fill the memory.

What the format compresses shrinks 5 to 40 times; deflate and zstd can do 1000 times and more. A block of Avro has 16 kB
to some megabytes: one of very many is damaged, however little it was compressed.
"""

from __future__ import annotations

import zlib

import pyarrow as pa

MOST_TIMES = 100
ALWAYS_ALLOWED_BYTES = 4 * 1024 * 1024
MOST_BLOCK_BYTES = 64 * 1024 * 1024

_PIECE_BYTES = 1024 * 1024
_CHECKSUM_BYTES = 4
_MOST_VARINT_BYTES = 5
_RAW, _GZIP = -15, 31


def gunzip(data: bytes) -> bytes:
    """The content of a gzip file of one or more members. Raises ValueError, EOFError or zlib.error."""
    plain = []
    room = _limit(data)
    while data:
        member, data = _inflated(data, _GZIP, room)
        room -= len(member)
        plain.append(member)
        data = data.lstrip(b"\0")
    return b"".join(plain)


def inflate(data: bytes) -> bytes:
    """The content of a deflated block of Avro. Raises ValueError, EOFError or zlib.error."""
    plain, _ = _inflated(data, _RAW, _block_limit(data))
    return plain


def unsnappy(data: bytes) -> bytes:
    """The content of a snappy block of Avro, which ends in a checksum. Raises ValueError or an Arrow error."""
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
    """The content of a block of Avro in zstd. Raises ValueError or an Arrow error."""
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
    """The first stream in `data` and what stands behind it."""
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
    return max(ALWAYS_ALLOWED_BYTES, MOST_TIMES * len(data))


def _block_limit(data: bytes) -> int:
    return min(_limit(data), MOST_BLOCK_BYTES)


def _too_large(data: bytes, limit: int) -> ValueError:
    return ValueError(f"{len(data)} compressed bytes stand for more than {limit}")
