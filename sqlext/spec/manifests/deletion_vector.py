"""Blobs of deletion vectors (Puffin spec: `deletion-vector-v1` blob type).

The deleted positions in a blob, a 64-bit roaring bitmap in portable form, remain bytes here.
"""

from __future__ import annotations

import struct
import zlib

BLOB_TYPE = "deletion-vector-v1"
REFERENCED_DATA_FILE = "referenced-data-file"
CARDINALITY = "cardinality"

_MAGIC = b"\xd1\xd3\x39\x64"
_NUMBER = struct.Struct(">I")
_START = _NUMBER.size + len(_MAGIC)


def encode_deletion_vector(positions: bytes) -> bytes:
    """The blob of a serialised bitmap."""
    content = _MAGIC + positions
    return b"".join((_NUMBER.pack(len(content)), content, _NUMBER.pack(zlib.crc32(content))))


def decode_deletion_vector(blob: bytes) -> bytes:
    """The serialised bitmap in a blob. Raises ValueError for a wrong length, magic number or checksum."""
    if len(blob) < _START + _NUMBER.size:
        raise ValueError(f"a deletion vector of {len(blob)} bytes is too short")
    content = blob[_NUMBER.size : -_NUMBER.size]
    if _NUMBER.unpack_from(blob)[0] != len(content):
        raise ValueError("the length of the deletion vector is wrong")
    if not content.startswith(_MAGIC):
        raise ValueError("the deletion vector has another magic number")
    if _NUMBER.unpack_from(blob, len(blob) - _NUMBER.size)[0] != zlib.crc32(content):
        raise ValueError("the checksum of the deletion vector is wrong")
    return content[len(_MAGIC) :]
