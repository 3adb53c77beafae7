"""The compare-and-swap of tables in a warehouse folder: the next numbered metadata file, which one writer can make.

A version that is made has landed, unless it is marked by a transaction of several tables: see `warehouse_transaction`.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from sqlext.catalog.catalog import LoadedTable, TableCommit
from sqlext.catalog.catalog_names import CatalogNames
from sqlext.catalog.decoded_metadata import DecodedMetadata
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.metadata_file import MetadataFolder, MetadataVersion, version_number
from sqlext.catalog.reachable_files import snapshot_files
from sqlext.catalog.transaction_mark import Mark, is_overdue, mark_of, unmarked
from sqlext.catalog.transaction_outcomes import ABORTED, COMMITTED, Outcomes
from sqlext.catalog.warehouse_transaction import WarehouseTransaction
from sqlext.errors import (
    CommitConflict,
    CommitStateUnknown,
    NotFoundError,
    SqlextError,
    ValidationConflict,
)
from sqlext.properties import METADATA_COMPRESSION, METADATA_DELETE_AFTER_COMMIT, METADATA_PREVIOUS_VERSIONS_MAX
from sqlext.spec.metadata.metadata_update import with_metadata_log
from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata, encode_table_metadata
from sqlext.storage.file_io import FolderIO
from sqlext.storage.location import is_below, join, same_place


class WarehouseCommits:
    """Commits of one catalog; `folder_of` gives the metadata folder of a table."""

    def __init__(
        self,
        names: CatalogNames,
        io: FolderIO,
        folder_of: Callable[[TableIdentifier], MetadataFolder],
        outcomes: Outcomes,
        *,
        clock: Callable[[], int],
        new_uuid: Callable[[], uuid.UUID],
    ) -> None:
        self._names = names
        self._io = io
        self._folder_of = folder_of
        self._outcomes = outcomes
        self._clock = clock
        self._new_uuid = new_uuid
        self._decoded = DecodedMetadata()

    def create(self, identifier: TableIdentifier, updated: TableMetadata) -> LoadedTable:
        """Makes the table. Errors as `Catalog.commit` without a base.

        Metadata that was read from another table's file may have its mark, which says nothing of this one.
        """
        updated = unmarked(updated)
        folder = self._folder_of(identifier)
        exists = self._names.taken(identifier)
        if folder.holds_metadata():
            raise exists
        try:
            version = self._written(
                identifier,
                lambda data: folder.create(
                    1, data, compressed=False, confirm=lambda: self._require_own_files(identifier, updated)
                ),
                updated,
            )
        except CommitConflict:
            raise exists from None
        except FileNotFoundError:
            raise self._stale(identifier, "another table of the name was made and dropped") from None
        made = LoadedTable(identifier, updated, version.location)
        with self.landed(identifier):
            self._require_first(folder, version, made)
        return self._shown(made)

    def _require_first(self, folder: MetadataFolder, version: MetadataVersion, made: LoadedTable) -> None:
        """`CommitStateUnknown` where version 1 was free as another table has lived long enough to trim it.

        One that others have changed since, or dropped, was there: it is not to be made once more.
        """
        current = folder.current()
        while current not in (None, version):
            assert current is not None
            try:
                if _names_table(self._io.read(current.location), made):
                    return
            except FileNotFoundError:
                current = folder.current()
                continue
            raise self.unknown(made.identifier, "another writer made the table at the same time")

    def replace(self, identifier: TableIdentifier, base: LoadedTable, updated: TableMetadata) -> LoadedTable:
        """Puts `updated` behind `base`. Errors as `Catalog.commit`."""
        return self._shown(self._replace(identifier, base, updated))

    def replace_all(self, changes: Sequence[TableCommit], unchanged: Sequence[LoadedTable]) -> None:
        """Puts all of them behind their bases, or none. Errors as `Catalog.commit_tables`."""
        if not changes:
            self._require_unchanged(unchanged)
            return
        identity = self._new_uuid()
        transaction = WarehouseTransaction(self._outcomes, identity, self._clock, self._take_back_aborted, self._newest)
        # In one order, so that two transactions meet at their first common table.
        ordered = sorted(changes, key=lambda change: str(change.identifier))
        for made in transaction.commit(ordered, self._swap, lambda: self._require_unchanged(unchanged)):
            self._shown(made)
        with suppress(Exception):
            self._outcomes.expire(identity, self._newest)

    def _newest(self, identifier: TableIdentifier) -> LoadedTable | None:
        """The newest metadata file as it is, marked or not; None where there is no table."""
        version = self._folder_of(identifier).current()
        if version is None:
            return None
        return self.decoded(identifier, self._io.read(version.location), version.location)

    def _require_unchanged(self, tables: Sequence[LoadedTable]) -> None:
        """`CommitConflict` where one has a newer version, or one that a transaction has put there which may still land.

        Two transactions that each read what the other one changes put their files there first and look then, so that
        one of them at least finds that of the other.
        """
        for table in tables:
            newest = self._newest(table.identifier)
            if newest is None:
                raise self._names.not_found(table.identifier)
            mark = mark_of(newest)
            if mark is not None and self._outcomes.of(mark.transaction) is None:
                with suppress(Exception):
                    self._take_back_aborted(table.identifier)
                raise self._stale(table.identifier, "another transaction is changing it")
            seen = self.as_seen(newest)
            if seen is None or seen.metadata_location != table.metadata_location:
                raise self._stale(table.identifier, "it has a newer version")

    def decoded(self, identifier: TableIdentifier, data: bytes, location: str) -> LoadedTable:
        """The table of a metadata file. Errors as `decode_table_metadata`."""
        return LoadedTable(identifier, self._decoded.of(data, location), location)

    def as_seen(self, table: LoadedTable) -> LoadedTable | None:
        """The table, or as it was before where a transaction wrote this file and has not landed. None where there is a
        newer file by now: the outcome may have been deleted since, so that one is to be looked at."""
        mark = mark_of(table)
        if mark is None:
            return table
        outcome = self._outcomes.of(mark.transaction)
        if outcome == COMMITTED:
            return replace(table, metadata=unmarked(table.metadata))
        if outcome is None and not self._is_newest(table):
            return None
        return self._before(table, mark)

    def _is_newest(self, table: LoadedTable) -> bool:
        version = self._folder_of(table.identifier).current()
        return version is not None and version.location == table.metadata_location

    def version(self, current: LoadedTable, location: str) -> LoadedTable:
        """A former version of the table, by a file of its log; the one before it, where the file never counted.
        `NotFoundError` where nothing tells whether it did."""
        table = self.decoded(current.identifier, self._io.read(location), location)
        seen, mark = self.as_seen(table), mark_of(table)
        if seen is None and mark is not None:
            path = self._outcomes.location(mark.transaction)
            raise NotFoundError("FILE_NOT_FOUND", path=path, kind="outcome of a transaction")
        return seen or table

    def _before(self, table: LoadedTable, mark: Mark) -> LoadedTable:
        location = join(table.metadata_location.rpartition("/")[0], mark.base)
        before = self.decoded(table.identifier, self._io.read(location), location)
        return replace(before, metadata=unmarked(before.metadata))

    def _swap(self, change: TableCommit) -> LoadedTable:
        assert change.base is not None
        return self._replace(change.identifier, change.base, change.updated)

    def _take_back_aborted(self, identifier: TableIdentifier) -> None:
        """Clears the way for the next version where that of an aborted transaction is in it, or of one that should have
        had an outcome by now."""
        table = self._newest(identifier)
        mark = None if table is None else mark_of(table)
        if table is None or mark is None:
            return
        outcome = self._outcomes.of(mark.transaction)
        if outcome is None and is_overdue(mark, self._clock()) and self._is_newest(table):
            outcome = self._outcomes.abort(mark.transaction)
        if outcome == ABORTED:
            # Its log goes on, and its time stamp with that, which no version may be earlier than the ones before it.
            log, updated_ms = table.metadata.metadata_log, table.metadata.last_updated_ms
            before = self._before(table, mark).metadata
            updated_ms = max(updated_ms, before.last_updated_ms)
            self._replace(identifier, table, replace(before, metadata_log=log, last_updated_ms=updated_ms))

    def _replace(self, identifier: TableIdentifier, base: LoadedTable, updated: TableMetadata) -> LoadedTable:
        folder = self._folder_of(identifier)
        number = _number(base) + 1
        compressed = METADATA_COMPRESSION.of(base.metadata.properties) == "gzip"
        logged = with_metadata_log(
            updated,
            base.metadata_location,
            base.metadata.last_updated_ms,
            METADATA_PREVIOUS_VERSIONS_MAX.of(updated.properties),
        )
        try:
            version = self._written(
                identifier,
                lambda data: folder.create(
                    number, data, compressed=compressed, confirm=lambda: self._require_same_table(identifier, base)
                ),
                logged,
            )
        except FileNotFoundError:
            raise self._names.not_found(identifier) from None
        except CommitConflict:
            with suppress(Exception):
                self._take_back_aborted(identifier)
            raise
        with self.landed(identifier):
            self._require_in_history(identifier, folder, base, version)
        return LoadedTable(identifier, logged, version.location)

    def _require_in_history(
        self, identifier: TableIdentifier, folder: MetadataFolder, base: LoadedTable, version: MetadataVersion
    ) -> None:
        """`CommitStateUnknown` where a version that was just written may lie in a gap that newer ones have left behind.

        Versions are trimmed oldest first. While the base is there, the place after it has never been cleared; and where
        nobody has come further, there is no gap, nor a base that lies in one.
        """
        trimmed = not self._io.exists(base.metadata_location)
        if not trimmed and (folder.hint() or 0) <= version.number:
            return
        current = folder.current()
        if current == version:
            return
        if current is not None:
            log = self._decoded.of(self._io.read(current.location), current.location).metadata_log
            if any(entry.metadata_file == version.location for entry in log):
                return
        raise self.unknown(identifier, f"{base.metadata_location} was trimmed during the commit")

    def _written(
        self, identifier: TableIdentifier, create: Callable[[bytes], MetadataVersion], metadata: TableMetadata
    ) -> MetadataVersion:
        """What `create` makes of the encoded metadata; `CommitStateUnknown` when the store gives it no answer."""
        data = encode_table_metadata(metadata)
        try:
            version = create(data)
            self._decoded.keep(data, version.location, metadata)
            return version
        except (SqlextError, FileNotFoundError):
            raise
        except Exception as error:
            raise self.unknown(identifier, str(error) or type(error).__name__) from error

    @contextmanager
    def landed(self, identifier: TableIdentifier) -> Iterator[None]:
        """Around looks at a version that has been written: what goes wrong there does not take it back."""
        try:
            yield
        except CommitStateUnknown:
            raise
        except Exception as error:
            raise self.unknown(identifier, str(error) or type(error).__name__) from error

    def unknown(self, identifier: TableIdentifier, reason: str) -> CommitStateUnknown:
        """The error for a change of the table of which the store does not say whether it happened."""
        return self._names.unknown(identifier, reason)

    def _require_same_table(self, identifier: TableIdentifier, base: LoadedTable) -> None:
        """The base file is still there, and still of this table: a table dropped and made anew counts from 1 again."""
        try:
            data = self._io.read(base.metadata_location)
        except FileNotFoundError:
            raise self._stale(identifier, f"{base.metadata_location} is gone") from None
        if not _names_table(data, base):
            raise self._stale(identifier, "the table was dropped and made anew")

    def _require_own_files(self, identifier: TableIdentifier, made: TableMetadata) -> None:
        """The first files of a table that is being made are still there: another one of the name may have been made
        and dropped since they were written, and they with it."""
        own = tuple(one for one in made.snapshots if is_below(made.location, one.manifest_list))
        if not own:
            return
        found = {same_place(status.path) for status in self._io.list(made.location)}
        named = [path for path in snapshot_files(self._io, made, own) if is_below(made.location, path)]
        if any(same_place(path) not in found for path in named):
            reason = "another table of the name was made and dropped meanwhile, and files of this one with it"
            raise ValidationConflict("CONCURRENT_CHANGE", name=self._names.table(identifier), reason=reason)

    def _stale(self, identifier: TableIdentifier, reason: str) -> CommitConflict:
        return self._names.conflict(identifier, reason)

    def _shown(self, made: LoadedTable) -> LoadedTable:
        """Lets readers find a version that has landed at once, and those that have left the log not at all."""
        folder = self._folder_of(made.identifier)
        folder.advance_hint(MetadataVersion(_number(made), made.metadata_location))
        log = made.metadata.metadata_log
        if METADATA_DELETE_AFTER_COMMIT.of(made.metadata.properties) and log:
            oldest = version_number(log[0].metadata_file)
            if oldest is not None:
                folder.trim(oldest, lambda data: _names_table(data, made))
        return made


def decoded_table(identifier: TableIdentifier, data: bytes, location: str) -> LoadedTable:
    """The table of a metadata file. Errors as `decode_table_metadata`."""
    return LoadedTable(identifier, decode_table_metadata(data, location), location)


def _number(table: LoadedTable) -> int:
    number = version_number(table.metadata_location)
    if number is None:
        raise ValueError(f"{table.metadata_location} is no metadata file of a warehouse folder")
    return number


def _names_table(data: bytes, table: LoadedTable) -> bool:
    """Whether a metadata file is of the table, by its uuid; most often its text says so without being decoded."""
    uuid = table.metadata.table_uuid
    if re.search(rb'"table-uuid"\s*:\s*"' + re.escape(uuid.encode("ascii")) + b'"', data):
        return True
    return decode_table_metadata(data, table.metadata_location).table_uuid == uuid
