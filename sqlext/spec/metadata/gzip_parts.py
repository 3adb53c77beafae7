"""Gzip of parts whose compressed form is kept, so that only new ones are compressed (RFC 1951, RFC 1952)."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

from sqlext.spec.stored_bytes import checksum
from sqlext.spec.stored_bytes.checksum import ChecksumState, PartChecksum, joined

_RAW = -15
# No time; made on an unknown system; with a name (RFC 1952).
_GZIP_HEADER = b"\x1f\x8b\x08\x08\0\0\0\0\0\xff"
# The name tells the checksum of all bytes behind it. That of gzip is of the content, which bits that fill up a byte of
# the deflate stream do not change. An extra field would be the place for it, but DuckDB reads no file that has one.
_MARK, _END = b"sqlext-crc32-", b"\0"
_DIGITS = slice(len(_GZIP_HEADER) + len(_MARK), len(_GZIP_HEADER) + len(_MARK) + 2 * checksum.SIZE)
_BEGINNING_SIZE = _DIGITS.stop + len(_END)
_WORD = 0xFFFFFFFF


def deflated_part(data: bytes) -> bytes:
    """A part of a deflate stream that ends at a byte and refers to no part before it (RFC 1951)."""
    stream = zlib.compressobj(wbits=_RAW)
    return stream.compress(data) + stream.flush(zlib.Z_FULL_FLUSH)


def gzip_of(parts: Sequence[tuple[bytes | PartChecksum, bytes]]) -> bytes:
    """A gzip file whose content are parts, each given plain, or by its checksum, and as `deflated_part` of it.

    It has one member: Java's GZIPInputStream may end after the first of several, if its input does not know how much
    is left (JDK-7036144).
    """
    of_content, size = joined(plain for plain, _ in parts)
    stored = [deflated for _, deflated in parts]
    stored.append(zlib.compressobj(wbits=_RAW).flush(zlib.Z_FINISH))
    stored += [number.to_bytes(4, "little") for number in (of_content, size & _WORD)]
    return b"".join((_beginning(stored), *stored))


def checksum_state(data: bytes) -> ChecksumState:
    """Of the bytes of a gzip file."""
    right = _beginning([data[_BEGINNING_SIZE:]])
    mark = data[len(_GZIP_HEADER) : _DIGITS.start] + data[_DIGITS.stop : _BEGINNING_SIZE]
    found = checksum.state(mark, _MARK + _END, data[_DIGITS], right[_DIGITS])
    is_damaged = found == ChecksumState.RIGHT and not data.startswith(_GZIP_HEADER)
    return ChecksumState.WRONG if is_damaged else found


def without_flipped_bit(data: bytes) -> bytes | None:
    """A file of `gzip_of` as it was before one bit of it changed; None if that is not what happened."""
    beginning, rest = data[:_BEGINNING_SIZE], data[_BEGINNING_SIZE:]
    right = _beginning([rest])
    if checksum.differs_in_one_bit(beginning, right):
        return right + rest
    try:
        stored = int(beginning[_DIGITS], 16)
    except ValueError:
        return None
    mended = checksum.without_flipped_bit([rest], stored)
    return None if mended is None or _beginning(mended) != beginning else beginning + mended[0]


def _beginning(parts: Iterable[bytes]) -> bytes:
    """The header of a file, with the name that tells the checksum of `parts`."""
    value, _ = joined(parts)
    return b"%b%b%08x%b" % (_GZIP_HEADER, _MARK, value, _END)
