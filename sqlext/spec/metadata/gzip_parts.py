"""Gzip of parts whose compressed form is kept, so that only new ones are compressed (RFC 1951, RFC 1952)."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

_RAW = -15
# No name, no time; made on an unknown system (RFC 1952).
_GZIP_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_WORD = 0xFFFFFFFF


def deflated_part(data: bytes) -> bytes:
    """A part of a deflate stream that ends at a byte and refers to no part before it (RFC 1951)."""
    stream = zlib.compressobj(wbits=_RAW)
    return stream.compress(data) + stream.flush(zlib.Z_FULL_FLUSH)


def gzip_of(parts: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A gzip file whose content are parts, each given plain and as `deflated_part` of it.

    It has one member: Java's GZIPInputStream may end after the first of several, if its input does not know how much
    is left (JDK-7036144).
    """
    checksum, size, stored = 0, 0, [_GZIP_HEADER]
    for plain, deflated in parts:
        checksum = zlib.crc32(plain, checksum)
        size += len(plain)
        stored.append(deflated)
    stored.append(zlib.compressobj(wbits=_RAW).flush(zlib.Z_FINISH))
    stored += [number.to_bytes(4, "little") for number in (checksum, size & _WORD)]
    return b"".join(stored)
