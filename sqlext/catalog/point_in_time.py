"""The versions of tables that a transaction reads: those of one point in time, in all of its catalogs.

A table that is read first is taken as it is now, if all tables that were read before it are still at the versions that
were read: all of them were current when it was loaded. Once one of them has a newer version, the point in time is the
last millisecond before the first of these, by the tables' own time stamps (`last-updated-ms`), and of a further table
the transaction reads the newest version that is not later. What cannot be read so is refused.

These versions belong together because time stamps follow what depends on what. No version is stamped earlier than the
one before it, and no version that a transaction makes earlier than a version that it has read, or than another one that
it makes (`commit_ms`). So whatever was made from a version that the transaction does not see is not seen by it either.
A statement outside of a transaction takes the time of its host's clock after it has read its tables: for these, clocks
of hosts must differ by less than the time between two statements that depend on each other. Clocks that are fast by
more than a minute are not followed.
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

# So much later than the clock a table's time stamp may be, for the stamps of other tables to follow it. As much as
# Iceberg lets two versions of one table be out of order.
_MOST_SKEW_MS = 60_000


@dataclass(slots=True)
class _Read:
    """A table as it was read; `left_ms`: the time stamp of the next version, once there is one."""

    catalog: Catalog
    table: LoadedTable
    left_ms: int | None = None


class PointInTime:
    """Of one transaction; thread-safe. `clock` tells milliseconds since 1970."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._begun_ms: int | None = None
        self._reads: dict[tuple[str, TableIdentifier], _Read] = {}
        self._lock = RLock()

    def load(self, catalog: Catalog, identifiers: Sequence[TableIdentifier]) -> Sequence[LoadedTable]:
        """Tables that were not read yet; many at once cost less looks at each other. Errors as `Catalog.load_table`;
        `ValidationConflict` TRANSACTION_READ_CONFLICT."""
        with self._lock:
            if self._begun_ms is None:
                self._begun_ms = self._clock()
            new = [_Read(catalog, catalog.load_table(identifier)) for identifier in identifiers]
            # Loaded before any is looked at: where none has changed, all were current when the last one was loaded.
            left_ms = _first_left_ms([*self._reads.values(), *new[:-1]], new[-1])
            if left_ms is not None:
                new = [self._as_of(read, left_ms - 1, self._begun_ms) for read in new]
            for read in new:
                self._reads[catalog.name, read.table.identifier] = read
            return [read.table for read in new]

    def commit_ms(self, staged: Iterable[TableMetadata]) -> int:
        """The time stamp for all versions that the transaction makes: the time, or where the time stamps of tables that
        it has read or changed are later, theirs."""
        with self._lock:
            now_ms = self._clock()
            known = [read.table.metadata for read in self._reads.values()]
            stamps = [metadata.last_updated_ms for metadata in (*known, *staged)]
            return max([now_ms, *(one for one in stamps if one <= now_ms + _MOST_SKEW_MS)])

    def _as_of(self, read: _Read, moment_ms: int, begun_ms: int) -> _Read:
        """The table as it was at a moment at which all that were read before were what they were."""
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
        if head is not None and head.snapshot_id not in {one.snapshot_id for one in newest.metadata.snapshots}:
            raise _refused(read, f"its snapshot {head.snapshot_id} has expired")
        left_ms = _left_ms(catalog, table, newest)
        if left_ms is None or left_ms <= moment_ms or table.metadata.last_updated_ms > moment_ms:
            raise _refused(read, "the time stamps of its versions do not tell which one was current")
        return _Read(catalog, table, left_ms)


def _first_left_ms(reads: Sequence[_Read], wanted: _Read) -> int | None:
    """The earliest time stamp of a newer version of one of the tables; None where there is none."""
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
    """The table's versions as far as its metadata log goes back, the oldest first."""
    current = MetadataLogEntry(table.metadata.last_updated_ms, table.metadata_location)
    return [*table.metadata.metadata_log, current]


def _left_ms(catalog: Catalog, table: LoadedTable, current: LoadedTable) -> int | None:
    """The time stamp of the version that came after `table`; None where nothing tells it."""
    if table.metadata.table_uuid != current.metadata.table_uuid:
        return None
    versions = _versions(current)
    files = [one.metadata_file for one in versions]
    if table.metadata_location not in files[:-1]:
        return None
    following = versions[files.index(table.metadata_location) + 1]
    if catalog.keeps_time_stamps or following.timestamp_ms in _new_snapshots_ms(catalog, table, following, current):
        return following.timestamp_ms
    return None


def _new_snapshots_ms(
    catalog: Catalog, table: LoadedTable, following: MetadataLogEntry, current: LoadedTable
) -> frozenset[int]:
    """The time stamps of the snapshots that the version after `table` has brought."""
    version = current
    if following.metadata_file != current.metadata_location:
        try:
            version = catalog.load_version(current, following.metadata_file)
        except (SqlextError, OSError):
            return frozenset()
    known = {one.snapshot_id for one in table.metadata.snapshots}
    return frozenset(one.timestamp_ms for one in version.metadata.snapshots if one.snapshot_id not in known)


def _name(read: _Read) -> str:
    return CatalogNames(read.catalog.name).table(read.table.identifier)


def _refused(read: _Read, reason: str) -> ValidationConflict:
    return ValidationConflict("TRANSACTION_READ_CONFLICT", name=_name(read), reason=reason)
