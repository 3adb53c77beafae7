"""The versions of tables that a transaction reads: those of one point in time, across catalogs.

A table's first read takes its current version, if all tables read before are unchanged: all their versions were current
when it was loaded. Otherwise the point in time is the last millisecond before the first change of these, by
`last-updated-ms`, and the read takes the newest version that is not later. If that is impossible, it fails.

Timestamps follow dependencies, so these versions are consistent. A version's timestamp is no earlier than its
predecessor's; and those of a transaction's own versions are equal, and no earlier than those of versions it has read
(`commit_ms`). A version derived from an invisible one is therefore invisible. A statement outside a transaction takes
its host's time after reading its tables; for these, clocks must differ by less than the time between two dependent
statements. Timestamps more than a minute ahead of the clock are not followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from threading import RLock

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.catalog_names import CatalogNames
from sqlext.catalog.identifier import TableIdentifier
from sqlext.errors import NotFoundError, SqlextError, ValidationConflict
from sqlext.spec.metadata.snapshot import MetadataLogEntry
from sqlext.spec.metadata.table_metadata import TableMetadata

# A table's timestamp may be this far ahead of the clock for commits to other tables to follow it. Iceberg lets two
# versions of a table be as far out of order.
_MOST_SKEW_MS = 60_000


@dataclass(slots=True)
class _Read:
    """A table as read; `left_ms` is the timestamp of the next version, once there is one."""

    catalog: Catalog
    table: LoadedTable
    left_ms: int | None = None


class PointInTime:
    """The point in time of one transaction; thread-safe. `clock` gives milliseconds since 1970."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._begun_ms: int | None = None
        self._reads: dict[tuple[str, TableIdentifier], _Read] = {}
        self._lock = RLock()

    def load(self, catalog: Catalog, identifiers: Sequence[TableIdentifier]) -> Sequence[LoadedTable]:
        """Versions of tables that were not read yet; several at once need fewer checks. Raises as `Catalog.load_table`,
        and ValidationConflict TRANSACTION_READ_CONFLICT."""
        with self._lock:
            if self._begun_ms is None:
                self._begun_ms = self._clock()
            new = [_Read(catalog, catalog.load_table(identifier)) for identifier in identifiers]
            # All are loaded before any is checked: if none has changed, all were current when the last one was loaded.
            left_ms = _first_left_ms([*self._reads.values(), *new[:-1]], new[-1])
            if left_ms is not None:
                new = [self._as_of(read, left_ms - 1, self._begun_ms) for read in new]
            for read in new:
                self._reads[catalog.name, read.table.identifier] = read
            return [read.table for read in new]

    def commit_ms(self, staged: Iterable[TableMetadata]) -> int:
        """The timestamp of all versions that the transaction writes: the clock's time, or the latest timestamp of a
        table that it read or changed, if that is later."""
        with self._lock:
            now_ms = self._clock()
            known = [read.table.metadata for read in self._reads.values()]
            stamps = [metadata.last_updated_ms for metadata in (*known, *staged)]
            return max([now_ms, *(one for one in stamps if one <= now_ms + _MOST_SKEW_MS)])

    def _as_of(self, read: _Read, moment_ms: int, begun_ms: int) -> _Read:
        """The table at `moment_ms`, when all tables read before were at the versions read."""
        if moment_ms < begun_ms:
            reason = "a version of one of these that has come since is stamped with a time before the first read"
            raise _refused(read, reason)
        later = next((one for one in self._reads.values() if one.table.metadata.last_updated_ms > moment_ms), None)
        if later is not None:
            reason = f"the version of {_name(later)} that was read is stamped no earlier than a change of another one"
            raise _refused(read, reason)
        catalog, newest = read.catalog, read.table
        versions = _versions(newest)
        number = next((n for n, one in enumerate(versions) if one.timestamp_ms > moment_ms), len(versions))
        if number == len(versions):
            return read
        if number == 0:
            raise _refused(read, "it was made later, or its metadata log does not go back so far")
        location = versions[number - 1].metadata_file
        try:
            table = catalog.load_version(newest, location)
        except (SqlextError, OSError) as error:
            raise _refused(read, f"the metadata file {location} cannot be read ({error})") from error
        head = table.metadata.current_snapshot()
        if head is not None and newest.metadata.snapshot_or_none(head.snapshot_id) is None:
            raise _refused(read, f"its snapshot {head.snapshot_id} has expired")
        left_ms = _left_ms(catalog, table, newest)
        if left_ms is None or left_ms <= moment_ms or table.metadata.last_updated_ms > moment_ms:
            raise _refused(read, "the time stamps of its versions do not tell which one was current")
        return _Read(catalog, table, left_ms)


def _first_left_ms(reads: Sequence[_Read], wanted: _Read) -> int | None:
    """The earliest timestamp of a newer version of one of the tables; None if all are current."""
    for read in reads:
        if read.left_ms is None and not read.catalog.is_current(read.table):
            try:
                current = read.catalog.load_table(read.table.identifier)
            except NotFoundError:
                raise _refused(wanted, f"{_name(read)} was dropped since then") from None
            read.left_ms = _left_ms(read.catalog, read.table, current)
            if read.left_ms is None:
                reason = f"{_name(read)} has changed since then, and its metadata do not tell when"
                raise _refused(wanted, reason)
    return min((read.left_ms for read in reads if read.left_ms is not None), default=None)


def _versions(table: LoadedTable) -> list[MetadataLogEntry]:
    """The versions in the table's metadata log and the current one, oldest first."""
    current = MetadataLogEntry(table.metadata.last_updated_ms, table.metadata_location)
    return [*table.metadata.metadata_log, current]


def _left_ms(catalog: Catalog, table: LoadedTable, current: LoadedTable) -> int | None:
    """The timestamp of the version after `table`; None if it is unknown."""
    if table.metadata.table_uuid != current.metadata.table_uuid:
        return None
    versions = _versions(current)
    files = [one.metadata_file for one in versions]
    if table.metadata_location not in files[:-1]:
        return None
    following = versions[files.index(table.metadata_location) + 1]
    if catalog.keeps_timestamps or following.timestamp_ms in _new_snapshots_ms(catalog, table, following, current):
        return following.timestamp_ms
    return None


def _new_snapshots_ms(
    catalog: Catalog, table: LoadedTable, following: MetadataLogEntry, current: LoadedTable
) -> frozenset[int]:
    """Timestamps of the snapshots that the version after `table` added."""
    version = current
    if following.metadata_file != current.metadata_location:
        try:
            version = catalog.load_version(current, following.metadata_file)
        except (SqlextError, OSError):
            return frozenset()
    return frozenset(one.timestamp_ms for one in version.metadata.snapshots_not_in(table.metadata))


def _name(read: _Read) -> str:
    return CatalogNames(read.catalog.name).table(read.table.identifier)


def _refused(read: _Read, reason: str) -> ValidationConflict:
    return ValidationConflict("TRANSACTION_READ_CONFLICT", name=_name(read), reason=reason)
