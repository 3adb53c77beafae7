"""Puffin files: blobs, and a footer with the metadata of each (Puffin spec: File Structure)."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlext.spec.stored_bytes import checksum
from sqlext.spec.stored_bytes.checksum import ChecksumState

MAGIC = b"PFA1"
_NOT_KNOWN_YET = -1
_FOOTER_END = struct.Struct("<i4s4s")
# The end of the footer's JSON: a property with the checksum of all other bytes of the file, in hexadecimal digits.
_PROPERTY = "sqlext.checksum"
_CHECKSUM, _CHECKSUM_END = f',"{_PROPERTY}":"'.encode("ascii"), b'"}}'
_DIGITS = 2 * checksum.SIZE


@dataclass(frozen=True, slots=True)
class BlobMetadata:
    """A blob's metadata (Puffin spec: BlobMetadata): offset and length are in bytes, `fields` are field ids."""

    type: str
    offset: int
    length: int
    fields: tuple[int, ...] = ()
    snapshot_id: int = _NOT_KNOWN_YET
    sequence_number: int = _NOT_KNOWN_YET
    compression_codec: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        obj: dict[str, Any] = {
            "type": self.type,
            "fields": list(self.fields),
            "snapshot-id": self.snapshot_id,
            "sequence-number": self.sequence_number,
            "offset": self.offset,
            "length": self.length,
        }
        if self.compression_codec is not None:
            obj["compression-codec"] = self.compression_codec
        if self.properties:
            obj["properties"] = dict(self.properties)
        return obj


@dataclass(frozen=True, slots=True)
class NewBlob:
    """A blob to write uncompressed; of a snapshot that is not committed yet, its id and number are unassigned."""

    type: str
    data: bytes
    fields: tuple[int, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    snapshot_id: int = _NOT_KNOWN_YET
    sequence_number: int = _NOT_KNOWN_YET


@dataclass(frozen=True, slots=True)
class PuffinFile:
    """The bytes of a Puffin file, and the metadata of its blobs; `footer_size` is in bytes."""

    data: bytes
    blobs: tuple[BlobMetadata, ...]
    footer_size: int


def encode_puffin(blobs: Sequence[NewBlob], *, created_by: str) -> PuffinFile:
    """The file of these blobs, in their order."""
    parts, placed, offset = [MAGIC], list[BlobMetadata](), len(MAGIC)
    for blob in blobs:
        placed.append(
            BlobMetadata(
                blob.type,
                offset,
                len(blob.data),
                blob.fields,
                blob.snapshot_id,
                blob.sequence_number,
                properties=blob.properties,
            )
        )
        parts.append(blob.data)
        offset += len(blob.data)
    footer = {"blobs": [one.to_json() for one in placed], "properties": {"created-by": created_by}}
    data = _with_footer(b"".join(parts), footer)
    return PuffinFile(data, tuple(placed), len(data) - offset)


def with_properties(data: bytes, change: Callable[[dict[str, str]], dict[str, str]]) -> bytes:
    """A Puffin file whose blobs have changed properties, and are where they were. Raises ValueError or KeyError for a
    damaged file, and one with a compressed footer."""
    start, footer = _footer(data)
    for blob in footer["blobs"]:
        blob["properties"] = change(blob.get("properties") or {})
    return _with_footer(data[:start], footer)


def decode_blobs(data: bytes) -> list[BlobMetadata]:
    """The metadata of a Puffin file's blobs. Raises as `with_properties`."""
    return [
        BlobMetadata(
            blob["type"],
            blob["offset"],
            blob["length"],
            tuple(blob["fields"]),
            blob["snapshot-id"],
            blob["sequence-number"],
            blob.get("compression-codec"),
            blob.get("properties") or {},
        )
        for blob in _footer(data)[1]["blobs"]
    ]


def _footer(data: bytes) -> tuple[int, dict[str, Any]]:
    """Where the footer begins, and its JSON."""
    if len(data) < _FOOTER_END.size:
        raise ValueError("it does not end like a Puffin file")
    size, flags, magic = _FOOTER_END.unpack(data[-_FOOTER_END.size :])
    start = len(data) - _FOOTER_END.size - size - len(MAGIC)
    if magic != MAGIC or start < len(MAGIC) or data[start : start + len(MAGIC)] != MAGIC:
        raise ValueError("it does not end like a Puffin file")
    if any(flags):
        raise ValueError("its footer is compressed")
    footer: dict[str, Any] = json.loads(data[start + len(MAGIC) : -_FOOTER_END.size])
    return start, footer


def _with_footer(blobs: bytes, footer: Mapping[str, Any]) -> bytes:
    """The bytes of a file, with its checksum; one without properties, which other engines write, has none."""
    properties = {name: value for name, value in (footer.get("properties") or {}).items() if name != _PROPERTY}
    ordered = {**{name: value for name, value in footer.items() if name != "properties"}, "properties": properties}
    payload = json.dumps(ordered, ensure_ascii=False, separators=(",", ":")).encode()
    if not properties:
        return b"".join((blobs, MAGIC, payload, _FOOTER_END.pack(len(payload), bytes(4), MAGIC)))
    before = b"".join((blobs, MAGIC, payload.removesuffix(b"}}"), _CHECKSUM))
    size = len(payload) - len(b"}}") + len(_CHECKSUM) + _DIGITS + len(_CHECKSUM_END)
    after = _CHECKSUM_END + _FOOTER_END.pack(size, bytes(4), MAGIC)
    return b"".join((before, _checksum(before + after), after))


def checksum_state(data: bytes) -> ChecksumState:
    """Of the bytes of a Puffin file."""
    before, digits, after = _around_checksum(data)
    mark = before[-len(_CHECKSUM) :] + after[: len(_CHECKSUM_END)]
    return checksum.state(mark, _CHECKSUM + _CHECKSUM_END, digits, _checksum(before + after))


def without_flipped_bit(data: bytes) -> bytes | None:
    """A file of sqlext as it was before one bit of it changed; None if that is not what happened."""
    before, digits, after = _around_checksum(data)
    computed = _checksum(before + after)
    if checksum.differs_in_one_bit(digits, computed):
        return before + computed + after
    try:
        mended = checksum.without_flipped_bit([before, after], int(digits, 16))
    except ValueError:
        return None
    made = None if mended is None else digits.join(mended)
    return made if made is not None and checksum_state(made) == ChecksumState.RIGHT else None


def _around_checksum(data: bytes) -> tuple[bytes, bytes, bytes]:
    """The bytes before the digits of the checksum, the digits, and the bytes after them."""
    end = max(0, len(data) - _FOOTER_END.size - len(_CHECKSUM_END))
    begin = max(0, end - _DIGITS)
    return data[:begin], data[begin:end], data[end:]


def _checksum(data: bytes) -> bytes:
    return b"%08x" % zlib.crc32(data)
