"""Decoded metadata of tables, so that a query finds the version it was analysed with and asks no catalog again."""

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
    """Metadata that no file has, for as long as somebody has this object."""

    def __init__(self, metadata: TableMetadata) -> None:
        self.metadata = metadata


class RememberedMetadata:
    """The last metadata files that were read, and metadata that no file has; one for an application, thread-safe.

    A metadata file never changes while its table is there, so its location tells its content.
    """

    def __init__(self) -> None:
        # All of the object's state is read and changed under this lock.
        self._lock = Lock()
        self._files: OrderedDict[str, TableMetadata] = OrderedDict()
        # By the parts of the name and the metadata file's name.
        self._tables: OrderedDict[tuple[str, ...], LoadedTable] = OrderedDict()
        self._pending: dict[str, TableMetadata] = {}
        self._held: WeakValueDictionary[str, HeldMetadata] = WeakValueDictionary()

    def remember(self, location: str, metadata: TableMetadata) -> None:
        """Keeps the metadata of a file."""
        with self._lock:
            _keep(self._files, location, metadata)

    def remember_table(self, parts: Sequence[str], table: LoadedTable) -> None:
        """Keeps a table that its catalog was asked for, by the parts of its name."""
        with self._lock:
            _keep(self._files, table.metadata_location, table.metadata)
            _keep(self._tables, (*parts, table.metadata_location.rpartition("/")[2]), table)

    def table(self, parts: Sequence[str], metadata_file: str) -> LoadedTable | None:
        """The table as it was remembered last at the metadata file of that name."""
        with self._lock:
            return self._tables.get((*parts, metadata_file))

    def hold(self, location: str, metadata: TableMetadata) -> HeldMetadata:
        """Has the metadata found by its location, at which there is no file, while the caller has what this returns."""
        held = HeldMetadata(metadata)
        with self._lock:
            self._held[location] = held
        return held

    def keep_pending(self, location: str, metadata: TableMetadata) -> None:
        """Keeps metadata that no file has until its transaction is over."""
        with self._lock:
            self._pending[location] = metadata

    def release_pending(self, transaction_id: str) -> None:
        """Of a transaction that is over; queries that were made in it may still ask for some of its metadata."""
        with self._lock:
            for location in [location for location in self._pending if transaction_id in location]:
                _keep(self._files, location, self._pending.pop(location))

    def at(self, location: str) -> TableMetadata | None:
        """The metadata of that location; None where it is not known, or no more."""
        with self._lock:
            held = self._held.get(location)
            return held.metadata if held is not None else self._pending.get(location) or self._files.get(location)


def _keep(kept: OrderedDict[_Key, _Value], key: _Key, value: _Value) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > _REMEMBERED_VERSIONS:
        kept.popitem(last=False)
