"""Gzip of parts whose compressed form is kept, so that only new ones are compressed (RFC 1951, RFC 1952)."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from sqlext.spec.stored_bytes import checksum
from sqlext.spec.stored_bytes.checksum import ChecksumState

_RAW = -15
# No name, no time; made on an unknown system; with an extra field (RFC 1952).
_GZIP_HEADER = b"\x1f\x8b\x08\4\0\0\0\0\0\xff"
# The extra field has one subfield, which ends with the checksum of all other bytes of the file. That of gzip is of the
# content, which bits that fill up a byte of the deflate stream do not change.
_MARK = b"sqlext\0\1"
_SUBFIELD = len(_MARK) + checksum.SIZE
_EXTRA = (len(b"sq") + 2 + _SUBFIELD).to_bytes(2, "little") + b"sq" + _SUBFIELD.to_bytes(2, "little") + _MARK
_BEGINNING = _GZIP_HEADER + _EXTRA
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
    of_content, size, stored = 0, 0, list[bytes]()
    for plain, deflated in parts:
        of_content = zlib.crc32(plain, of_content)
        size += len(plain)
        stored.append(deflated)
    stored.append(zlib.compressobj(wbits=_RAW).flush(zlib.Z_FINISH))
    stored += [number.to_bytes(4, "little") for number in (of_content, size & _WORD)]
    return b"".join((_BEGINNING, _checksum(stored), *stored))


def checksum_state(data: bytes) -> ChecksumState:
    """Of the bytes of a gzip file."""
    start = len(_BEGINNING) + checksum.SIZE
    mark, stored = data[len(_GZIP_HEADER) : len(_BEGINNING)], data[len(_BEGINNING) : start]
    found = checksum.state(mark, _EXTRA, stored, _checksum([data[start:]]))
    is_damaged = found == ChecksumState.RIGHT and not data.startswith(_GZIP_HEADER)
    return ChecksumState.WRONG if is_damaged else found


def without_flipped_bit(data: bytes) -> bytes | None:
    """A file of `gzip_of` as it was before one bit of it changed; None if that is not what happened."""
    start = len(_BEGINNING) + checksum.SIZE
    stored, rest = data[len(_BEGINNING) : start], data[start:]
    right = _BEGINNING + _checksum([rest])
    if checksum.differs_in_one_bit(data[:start], right):
        return right + rest
    mended = checksum.without_flipped_bit([rest], int.from_bytes(stored, "big"))
    return None if mended is None or not data.startswith(_BEGINNING) else data[:start] + mended[0]


def _checksum(parts: Iterable[bytes]) -> bytes:
    value = 0
    for part in parts:
        value = zlib.crc32(part, value)
    return value.to_bytes(checksum.SIZE, "big")
