"""The checksum of a metadata file (`sqlext.spec.stored_bytes.checksum`).

A plain file ends with a member of its JSON object that has the CRC-32 and the size of all bytes before it. Another
engine may keep the member in a text of its own: then the size is another one, and the member says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlext.spec.metadata import gzip_parts
from sqlext.spec.stored_bytes import checksum
from sqlext.spec.stored_bytes.checksum import ChecksumState, PartChecksum, joined

MEMBER = "sqlext-checksum"
GZIP_MAGIC = b"\x1f\x8b"
_BEGIN, _END = f',"{MEMBER}":"'.encode("ascii"), b'"}'
_DIGITS = 2 * checksum.SIZE
_SIZE = len(_BEGIN) + 2 * _DIGITS + len(_END)
_WORD = 0xFFFFFFFF


def closing(parts: Iterable[bytes | PartChecksum]) -> bytes:
    """The end of a JSON object whose text so far is `parts`: the member, and the closing brace."""
    value, size = joined(parts)
    return b"%b%08x%08x%b" % (_BEGIN, value, size & _WORD, _END)


def checksum_state(data: bytes) -> ChecksumState:
    """Of the bytes of a metadata file, plain or gzipped."""
    gzipped = gzip_parts.checksum_state(data)
    if gzipped != ChecksumState.ABSENT or data.startswith(GZIP_MAGIC):
        return gzipped
    text, end = data[:-_SIZE], data[-_SIZE:]
    expected = closing([text])
    digits = slice(len(_BEGIN), -len(_END))
    stored, computed = end[digits], expected[digits]
    found = checksum.state(end[: len(_BEGIN)] + end[-len(_END) :], _BEGIN + _END, stored, computed)
    is_of_other_text = stored[_DIGITS:] != computed[_DIGITS:] and stored[:_DIGITS] != computed[:_DIGITS]
    return ChecksumState.ABSENT if is_of_other_text else found


def without_flipped_bit(data: bytes) -> bytes | None:
    """A file of sqlext as it was before one bit of it changed; None if that is not what happened."""
    unzipped = gzip_parts.without_flipped_bit(data)
    if unzipped is not None:
        return unzipped
    text, end = data[:-_SIZE], data[-_SIZE:]
    right = closing([text])
    if checksum.differs_in_one_bit(end, right):
        return text + right
    try:
        stored = int(end[len(_BEGIN) : len(_BEGIN) + _DIGITS], 16)
    except ValueError:
        return None
    mended = checksum.without_flipped_bit([text], stored)
    return None if mended is None or closing(mended) != end else mended[0] + end
