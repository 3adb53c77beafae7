"""A cache of decoded table metadata: a query reads the version that it was analysed with, without catalog requests."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import TypeVar
from weakref import WeakValueDictionary

from sqlext.catalog.catalog import LoadedTable
from sqlext.spec.metadata.table_metadata import TableMetadata

_REMEMBERED_VERSIONS = 256

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class HeldMetadata:
    """Metadata without a file, found by location while a reference to this object exists."""

    def __init__(self, metadata: TableMetadata) -> None:
        self.metadata = metadata


class RememberedMetadata:
    """The last metadata files that were read, and metadata without a file. One for an application; thread-safe.

    The key is the location, because a metadata file never changes.
    """

    def __init__(self) -> None:
        # Guards all other attributes.
        self._lock = Lock()
        self._files: OrderedDict[str, TableMetadata] = OrderedDict()
        # By the parts of the table's name, followed by the name of the metadata file.
        self._tables: OrderedDict[tuple[str, ...], LoadedTable] = OrderedDict()
        self._pending: dict[str, TableMetadata] = {}
        self._held: WeakValueDictionary[str, HeldMetadata] = WeakValueDictionary()

    def remember(self, location: str, metadata: TableMetadata) -> None:
        """Caches the metadata of a file."""
        with self._lock:
            _keep(self._files, location, metadata)

    def remember_table(self, parts: Sequence[str], table: LoadedTable) -> None:
        """Caches a table loaded from its catalog, by the parts of its name."""
        with self._lock:
            _keep(self._files, table.metadata_location, table.metadata)
            _keep(self._tables, (*parts, table.metadata_location.rpartition("/")[2]), table)

    def table(self, parts: Sequence[str], metadata_file: str) -> LoadedTable | None:
        """The table as last cached with the metadata file of that name; None if it is not cached."""
        with self._lock:
            return self._tables.get((*parts, metadata_file))

    def hold(self, location: str, metadata: TableMetadata) -> HeldMetadata:
        """Makes metadata without a file found by `location`, for as long as the caller keeps the returned object."""
        held = HeldMetadata(metadata)
        with self._lock:
            self._held[location] = held
        return held

    def keep_pending(self, location: str, metadata: TableMetadata) -> None:
        """Keeps metadata without a file until `release_pending` of its transaction, whose id the location contains."""
        with self._lock:
            self._pending[location] = metadata

    def release_pending(self, transaction_id: str) -> None:
        """Moves the metadata of an ended transaction into the cache, since its queries may still be read."""
        with self._lock:
            for location in [location for location in self._pending if transaction_id in location]:
                _keep(self._files, location, self._pending.pop(location))

    def at(self, location: str) -> TableMetadata | None:
        """The metadata at `location`; None if it is not cached."""
        with self._lock:
            held = self._held.get(location)
            return held.metadata if held is not None else self._pending.get(location) or self._files.get(location)


def _keep(kept: OrderedDict[_Key, _Value], key: _Key, value: _Value) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > _REMEMBERED_VERSIONS:
        kept.popitem(last=False)
