"""Cache of decoded metadata files, used while a file's bytes are unchanged, and of the history that a table's files
repeat.

Each file has the snapshots of the one before, so without the cache every reading and every writing of a new version
would cost as much as the history is long.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

from sqlext.spec.metadata.metadata_text import (
    MetadataText,
    decode_answer_with_text,
    decode_with_text,
    encode_with_text,
)
from sqlext.spec.metadata.table_metadata import TableMetadata

# Decoded metadata takes about ten times the bytes of its file; the versions of a table share their snapshots.
_MOST_BYTES = 16 * 1024 * 1024
# Of text, without compression.
_SNAPSHOT_BYTES = 700


@dataclass(frozen=True, slots=True)
class _Texts:
    """The text of a table's history as last read, which another engine may have written, and as last encoded."""

    read: MetadataText = field(default_factory=MetadataText)
    encoded: MetadataText = field(default_factory=MetadataText)

    @property
    def size(self) -> int:
        return self.read.size + self.encoded.size


class DecodedMetadata:
    """The cache of one catalog; thread-safe. The cached version of a location is used for equal bytes only, since a
    table that was recreated has other bytes at an old location."""

    def __init__(self) -> None:
        # Guards all other attributes.
        self._lock = Lock()
        self._known: OrderedDict[str, tuple[bytes, TableMetadata]] = OrderedDict()
        self._bytes = 0
        # By the folder of metadata files, or the table's name in a REST catalog.
        self._texts: OrderedDict[str, _Texts] = OrderedDict()
        self._text_bytes = 0

    def of(self, data: bytes, location: str) -> TableMetadata:
        """The metadata encoded in `data`, which was read from `location`. Raises as `decode_table_metadata`."""
        with self._lock:
            known, metadata = self._known.get(location, (b"", None))
            if metadata is not None and known == data:
                self._known.move_to_end(location)
                return metadata
        texts = self._texts_of(_folder(location))
        metadata, text = decode_with_text(data, location, (texts.read, texts.encoded))
        self._keep_texts(_folder(location), read=text)
        self.keep(data, location, metadata)
        return metadata

    def of_answer(self, data: bytes, table: str) -> tuple[dict[str, Any], TableMetadata] | None:
        """A REST catalog's response about the table of that name, without the history, and its metadata; None as
        `decode_answer_with_text`. Raises UnsupportedError for a later format version."""
        found = decode_answer_with_text(data, table, (self._texts_of(table).read,))
        if found is None:
            return None
        answer, metadata, text = found
        self._keep_texts(table, read=text)
        return answer, metadata

    def encode(self, metadata: TableMetadata, location: str, *, compressed: bool) -> bytes:
        """The bytes of a metadata file in the folder of `location`, `compressed` with gzip or not."""
        made = encode_with_text(metadata, self._texts_of(_folder(location)).encoded)
        self._keep_texts(_folder(location), encoded=made.text)
        return made.gzipped() if compressed else made.plain()

    def keep(self, data: bytes, location: str, metadata: TableMetadata) -> None:
        """Caches metadata with the bytes of its file."""
        with self._lock:
            before = self._known.pop(location, None)
            self._known[location] = data, metadata
            self._bytes += _size(data, metadata) - (0 if before is None else _size(*before))
            while self._bytes > _MOST_BYTES and len(self._known) > 1:
                _, dropped = self._known.popitem(last=False)
                self._bytes -= _size(*dropped)

    def _texts_of(self, table: str) -> _Texts:
        with self._lock:
            return self._texts.get(table, _Texts())

    def _keep_texts(self, table: str, **changed: MetadataText) -> None:
        with self._lock:
            before = self._texts.pop(table, _Texts())
            self._texts[table] = after = replace(before, **changed)
            self._text_bytes += after.size - before.size
            while self._text_bytes > _MOST_BYTES and len(self._texts) > 1:
                _, dropped = self._texts.popitem(last=False)
                self._text_bytes -= dropped.size


def _folder(location: str) -> str:
    return location.rpartition("/")[0]


def _size(data: bytes, metadata: TableMetadata) -> int:
    """The bytes of a metadata file without compression, estimated."""
    return max(len(data), _SNAPSHOT_BYTES * len(metadata.snapshots))
