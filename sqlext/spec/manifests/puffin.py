"""Puffin files: blobs, and a footer that tells where they are (Puffin spec: File Structure)."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MAGIC = b"PFA1"
_NOT_KNOWN_YET = -1
_FOOTER_END = struct.Struct("<i4s4s")
_COMPRESSED_FOOTER = 1


@dataclass(frozen=True, slots=True)
class BlobMetadata:
    """A blob's place in its file (bytes) and what it is about; `fields` are ids."""

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

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> BlobMetadata:
        """Raises KeyError or TypeError for what is no blob's metadata."""
        return cls(
            type=obj["type"],
            offset=obj["offset"],
            length=obj["length"],
            fields=tuple(obj["fields"]),
            snapshot_id=obj["snapshot-id"],
            sequence_number=obj["sequence-number"],
            compression_codec=obj.get("compression-codec"),
            properties=dict(obj.get("properties") or {}),
        )


@dataclass(frozen=True, slots=True)
class NewBlob:
    """A blob to write, as it is: nothing is compressed."""

    type: str
    data: bytes
    fields: tuple[int, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)


def encode_puffin(blobs: Sequence[NewBlob], *, created_by: str) -> tuple[bytes, list[BlobMetadata]]:
    """The bytes of a file of these blobs, and where each is. Snapshot and sequence number are not known yet."""
    parts, placed, offset = [MAGIC], [], len(MAGIC)
    for blob in blobs:
        placed.append(BlobMetadata(blob.type, offset, len(blob.data), blob.fields, properties=blob.properties))
        parts.append(blob.data)
        offset += len(blob.data)
    footer = {"blobs": [one.to_json() for one in placed], "properties": {"created-by": created_by}}
    payload = json.dumps(footer, ensure_ascii=False, separators=(",", ":")).encode()
    parts += [MAGIC, payload, _FOOTER_END.pack(len(payload), bytes(4), MAGIC)]
    return b"".join(parts), placed


def decode_footer(data: bytes) -> list[BlobMetadata]:
    """The blobs of a whole file. Raises ValueError for what is no Puffin file, or for a compressed footer."""
    if len(data) < len(MAGIC) + _FOOTER_END.size or not data.startswith(MAGIC):
        raise ValueError("it does not begin as a Puffin file")
    length, flags, magic = _FOOTER_END.unpack(data[-_FOOTER_END.size :])
    start = len(data) - _FOOTER_END.size - length
    if magic != MAGIC or length < 0 or start < 2 * len(MAGIC) or data[start - len(MAGIC) : start] != MAGIC:
        raise ValueError("it does not end as a Puffin file")
    if flags[0] & _COMPRESSED_FOOTER:
        raise ValueError("its footer is compressed, which is not supported")
    try:
        return [BlobMetadata.from_json(blob) for blob in json.loads(data[start : start + length])["blobs"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"its footer is damaged: {error}") from error
