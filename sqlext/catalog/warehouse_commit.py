"""The compare-and-swap of tables in a warehouse folder: creating the next numbered metadata file.

Creating the file is the commit, unless it has a mark of a transaction of several tables (`warehouse_transaction`).
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
from sqlext.catalog.metadata_pointer import deletes_old_metadata, versions_kept
from sqlext.catalog.reachable_files import snapshot_files
from sqlext.catalog.transaction_mark import Mark, is_overdue, mark_of, unmarked
from sqlext.catalog.transaction_outcomes import ABORTED, COMMITTED, OUTCOME, Outcomes
from sqlext.catalog.warehouse_transaction import WarehouseTransaction
from sqlext.errors import (
    CommitConflict,
    CommitStateUnknown,
    NotFoundError,
    SqlextError,
    ValidationConflict,
)
from sqlext.properties import METADATA_COMPRESSION
from sqlext.spec.metadata.metadata_update import with_metadata_log
from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata, metadata_beginning
from sqlext.storage.file_io import FolderIO
from sqlext.storage.location import is_below, is_object, join, same_place

# Iceberg's engines write the uuid as one of the first fields.
_BEGINNING_BYTES = 64 * 1024


class WarehouseCommits:
    """Commits of one catalog; `folder_of` gives a table's metadata folder."""

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
        """Creates the table. Raises as `Catalog.commit` without a base.

        A mark in `updated`, which may come from another table's file, is dropped.
        """
        updated = unmarked(updated)
        folder = self._folder_of(identifier)
        exists = self._names.taken(identifier)
        if folder.holds_metadata():
            raise exists
        try:
            version = self._written(
                identifier,
                folder,
                1,
                updated,
                compressed=False,
                confirm=lambda: self._require_own_files(identifier, updated),
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
        """Raises CommitStateUnknown if version 1 was free only because another table has trimmed it.

        If the created table has been changed or dropped since, it did exist and is not created again.
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
        """Commits `updated` after `base`. Raises as `Catalog.commit`."""
        return self._shown(self._replace(identifier, base, updated))

    def replace_damaged(self, identifier: TableIdentifier, damaged: str, metadata: TableMetadata) -> LoadedTable:
        """As `Catalog.replace_damaged`: the version after `damaged`, which may be missing if the hint is ahead."""
        folder, number = self._folder_of(identifier), version_number(damaged)
        if number is None or not is_below(metadata.location, damaged):
            raise self._stale(identifier, f"{damaged} is no version of it")
        try:
            version = self._written(identifier, folder, number + 1, metadata, compressed=False, confirm=lambda: None)
        except CommitConflict as lost:
            raise self._stale(identifier, str(lost.parameters["reason"])) from lost
        folder.advance_hint(version)
        return LoadedTable(identifier, metadata, version.location)

    def replace_all(self, changes: Sequence[TableCommit], unchanged: Sequence[LoadedTable]) -> None:
        """Commits all changes or none. Raises as `Catalog.commit_tables`."""
        if not changes:
            self._require_unchanged(unchanged)
            return
        identity = self._new_uuid()
        transaction = WarehouseTransaction(self._outcomes, identity, self._clock, self._take_back_aborted, self._newest)
        # A fixed order, so that two transactions meet at their first common table.
        ordered = sorted(changes, key=lambda change: str(change.identifier))
        for made in transaction.commit(ordered, self._swap, lambda: self._require_unchanged(unchanged)):
            self._shown(made)
        with suppress(Exception):
            self._outcomes.expire(identity, self._newest)

    def _newest(self, identifier: TableIdentifier) -> LoadedTable | None:
        """The newest metadata file, marked or not; None without a table."""
        version = self._folder_of(identifier).current()
        if version is None:
            return None
        return self.decoded(identifier, self._io.read(version.location), version.location)

    def _require_unchanged(self, tables: Sequence[LoadedTable]) -> None:
        """Raises CommitConflict if a table has a newer version, or one of an open transaction.

        Transactions write their marked files before this check, so that of two that each read what the other changes,
        at least one finds the other's file.
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
        """The table of a metadata file. Raises as `decode_table_metadata`."""
        return LoadedTable(identifier, self._decoded.of(data, location), location)

    def as_seen(self, table: LoadedTable) -> LoadedTable | None:
        """The table, or its previous version if a transaction that is not committed wrote this file. None if there is a
        newer file, which has to be read instead: the outcome may have been deleted since."""
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
        """A former version, from a file of the log; the one before it, if its transaction was not committed. Raises
        NotFoundError if the outcome is unknown."""
        table = self.decoded(current.identifier, self._io.read(location), location)
        seen, mark = self.as_seen(table), mark_of(table)
        if seen is None and mark is not None:
            path = self._outcomes.location(mark.transaction)
            raise NotFoundError("FILE_NOT_FOUND", path=path, kind=OUTCOME)
        return seen or table

    def _before(self, table: LoadedTable, mark: Mark) -> LoadedTable:
        location = join(table.metadata_location.rpartition("/")[0], mark.base)
        before = self.decoded(table.identifier, self._io.read(location), location)
        return replace(before, metadata=unmarked(before.metadata))

    def _swap(self, change: TableCommit) -> LoadedTable:
        assert change.base is not None
        return self._replace(change.identifier, change.base, change.updated)

    def _take_back_aborted(self, identifier: TableIdentifier) -> None:
        """Commits the version before that of an aborted transaction as the next one; aborts a transaction that is
        overdue."""
        table = self._newest(identifier)
        mark = None if table is None else mark_of(table)
        if table is None or mark is None:
            return
        outcome = self._outcomes.of(mark.transaction)
        if outcome is None and is_overdue(mark, self._clock()) and self._is_newest(table):
            outcome = self._outcomes.abort(mark.transaction)
        if outcome == ABORTED:
            # The log continues, as do timestamps, which must not decrease.
            log, updated_ms = table.metadata.metadata_log, table.metadata.last_updated_ms
            before = self._before(table, mark).metadata
            updated_ms = max(updated_ms, before.last_updated_ms)
            self._replace(identifier, table, replace(before, metadata_log=log, last_updated_ms=updated_ms))

    def _replace(self, identifier: TableIdentifier, base: LoadedTable, updated: TableMetadata) -> LoadedTable:
        folder = self._folder_of(identifier)
        number = _number(base) + 1
        logged = with_metadata_log(
            updated,
            base.metadata_location,
            base.metadata.last_updated_ms,
            versions_kept(updated),
        )
        try:
            version = self._written(
                identifier,
                folder,
                number,
                logged,
                compressed=METADATA_COMPRESSION.of(base.metadata.properties) == "gzip",
                confirm=lambda: self._require_same_table(identifier, base),
            )
        except FileNotFoundError:
            raise self._names.not_found(identifier) from None
        except CommitConflict as lost:
            with suppress(Exception):
                self._take_back_aborted(identifier)
            raise self._stale(identifier, str(lost.parameters["reason"])) from lost
        with self.landed(identifier):
            self._require_in_history(identifier, folder, base, version)
        return LoadedTable(identifier, logged, version.location)

    def _require_in_history(
        self, identifier: TableIdentifier, folder: MetadataFolder, base: LoadedTable, version: MetadataVersion
    ) -> None:
        """Raises CommitStateUnknown if the new version may lie in a gap, before newer versions.

        Versions are trimmed oldest first. While the base exists, its successor has never been trimmed; and without
        newer versions there is no gap.
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
        self,
        identifier: TableIdentifier,
        folder: MetadataFolder,
        number: int,
        metadata: TableMetadata,
        *,
        compressed: bool,
        confirm: Callable[[], None],
    ) -> MetadataVersion:
        """Creates the version. Raises as `MetadataFolder.create`, CommitStateUnknown if the store does not answer."""
        location = folder.location_of(number, compressed=compressed)
        data = self._decoded.encode(metadata, location, compressed=compressed)
        try:
            version = folder.create(number, data, compressed=compressed, confirm=confirm)
            self._decoded.keep(data, version.location, metadata)
            return version
        except (SqlextError, FileNotFoundError):
            raise
        except Exception as error:
            raise self.unknown(identifier, str(error) or type(error).__name__) from error

    @contextmanager
    def landed(self, identifier: TableIdentifier) -> Iterator[None]:
        """Context of checks after a write: their errors become CommitStateUnknown, since the version exists."""
        try:
            yield
        except CommitStateUnknown:
            raise
        except Exception as error:
            raise self.unknown(identifier, str(error) or type(error).__name__) from error

    def unknown(self, identifier: TableIdentifier, reason: str) -> CommitStateUnknown:
        """The error for a change of which the store does not say whether it was made."""
        return self._names.unknown(identifier, reason)

    def _require_same_table(self, identifier: TableIdentifier, base: LoadedTable) -> None:
        """Raises CommitConflict unless the base file exists and is this table's: a recreated table counts from 1
        again."""
        location = base.metadata_location
        try:
            is_same = _begins_with_uuid(self._beginning(location), base) or _names_table(self._io.read(location), base)
        except FileNotFoundError:
            raise self._stale(identifier, f"{location} is gone") from None
        if not is_same:
            raise self._stale(identifier, "the table was dropped and made anew")

    def _beginning(self, location: str) -> bytes:
        """The first bytes of a metadata file, which is as long as the table's history; of an object all, since that is
        one request where a part is two."""
        if is_object(location):
            return self._io.read(location)
        with self._io.open_input(location) as file:
            return file.read(_BEGINNING_BYTES)

    def _require_own_files(self, identifier: TableIdentifier, made: TableMetadata) -> None:
        """Raises ValidationConflict if files of the table being created are missing: another table of the name may have
        been created and dropped since they were written, and they with it."""
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
        """Advances the hint to a committed version, and trims versions that have left the log."""
        folder = self._folder_of(made.identifier)
        folder.advance_hint(MetadataVersion(_number(made), made.metadata_location))
        log = made.metadata.metadata_log
        if deletes_old_metadata(made.metadata.properties) and log:
            numbers = (version_number(one.metadata_file) for one in log)
            # A log that was taken over from elsewhere may have larger numbers than the versions here.
            oldest = min((number for number in numbers if number is not None), default=None)
            if oldest is not None:
                folder.trim(min(oldest, _number(made)), lambda data: _names_table(data, made))
        return made


def decoded_table(identifier: TableIdentifier, data: bytes, location: str) -> LoadedTable:
    """The table of a metadata file. Raises as `decode_table_metadata`."""
    return LoadedTable(identifier, decode_table_metadata(data, location), location)


def _number(table: LoadedTable) -> int:
    number = version_number(table.metadata_location)
    if number is None:
        raise ValueError(f"{table.metadata_location} is no metadata file of a warehouse folder")
    return number


def _names_table(data: bytes, table: LoadedTable) -> bool:
    """Whether a metadata file is the table's, by uuid; usually found in the text without decoding."""
    if _begins_with_uuid(data, table):
        return True
    return decode_table_metadata(data, table.metadata_location).table_uuid == table.metadata.table_uuid


def _begins_with_uuid(data: bytes, table: LoadedTable) -> bool:
    """Whether the first bytes of a metadata file, which `data` has, name the table's uuid."""
    uuid = re.escape(table.metadata.table_uuid.encode("ascii"))
    return bool(re.search(rb'"table-uuid"\s*:\s*"' + uuid + b'"', metadata_beginning(data, _BEGINNING_BYTES)))
