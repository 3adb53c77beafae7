"""Cache of decoded metadata files, used while a file's bytes are unchanged.

Decoding the snapshot history would take half of the Python time of a small statement.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata

# Decoded metadata takes about ten times the bytes of its file.
_MOST_BYTES = 16 * 1024 * 1024


class DecodedMetadata:
    """The cache of one catalog, by location; thread-safe. A table that was recreated has other bytes at an old
    location."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: OrderedDict[str, tuple[bytes, TableMetadata]] = OrderedDict()
        self._bytes = 0

    def of(self, data: bytes, location: str) -> TableMetadata:
        """The metadata encoded in `data`, which was read from `location`. Raises as `decode_table_metadata`."""
        with self._lock:
            known, metadata = self._known.get(location, (b"", None))
            if metadata is not None and known == data:
                self._known.move_to_end(location)
                return metadata
        metadata = decode_table_metadata(data, location)
        self.keep(data, location, metadata)
        return metadata

    def keep(self, data: bytes, location: str, metadata: TableMetadata) -> None:
        """Caches metadata with its uncompressed bytes."""
        with self._lock:
            before, _ = self._known.pop(location, (b"", None))
            self._known[location] = data, metadata
            self._bytes += len(data) - len(before)
            while self._bytes > _MOST_BYTES:
                _, (dropped, _) = self._known.popitem(last=False)
                self._bytes -= len(dropped)
