"""Metadata files that were decoded or written last: one whose bytes are still the same is not decoded again.

Half of the time that a small statement's Python takes would go into the snapshots of the table's history.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata

# Decoded, metadata takes about ten times the bytes of its file.
_MOST_BYTES = 16 * 1024 * 1024


class DecodedMetadata:
    """By location, for one catalog; thread-safe. A table that was made anew has other bytes at an old location."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: OrderedDict[str, tuple[bytes, TableMetadata]] = OrderedDict()
        self._bytes = 0

    def of(self, data: bytes, location: str) -> TableMetadata:
        """What `data`, read from that location, says. Errors as `decode_table_metadata`."""
        with self._lock:
            known, metadata = self._known.get(location, (b"", None))
            if metadata is not None and known == data:
                self._known.move_to_end(location)
                return metadata
        metadata = decode_table_metadata(data, location)
        self.keep(data, location, metadata)
        return metadata

    def keep(self, data: bytes, location: str, metadata: TableMetadata) -> None:
        """Remembers what those bytes, of a file that is not compressed or was decoded, say."""
        with self._lock:
            before, _ = self._known.pop(location, (b"", None))
            self._known[location] = data, metadata
            self._bytes += len(data) - len(before)
            while self._bytes > _MOST_BYTES:
                _, (dropped, _) = self._known.popitem(last=False)
                self._bytes -= len(dropped)
