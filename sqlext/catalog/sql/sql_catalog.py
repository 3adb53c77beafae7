"""A catalog in a SQL database: rows point to metadata files, and the compare-and-swap is the UPDATE of a row.

The database has the tables of Iceberg's JDBC catalog, which, as PyIceberg's `SqlCatalog`, opens the same catalog.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence

from sqlext.catalog.catalog import LoadedTable, TableCommit, all_tables
from sqlext.catalog.catalog_names import CatalogNames
from sqlext.catalog.clone_tag import clones_first, release_source, without_clones
from sqlext.catalog.dropped_table import DroppedTable
from sqlext.catalog.identifier import Namespace, TableIdentifier, check_namespace, quoted
from sqlext.catalog.metadata_pointer import MetadataFiles, logged
from sqlext.catalog.owned_files import folder_elsewhere, in_any_folder, own_folders, owned_by, owned_files
from sqlext.catalog.owned_files import purge as purge_files
from sqlext.catalog.sql.database import DuplicateKey, answered
from sqlext.catalog.sql.records import TABLE, VIEW, CatalogRecords, MetadataRow, Record
from sqlext.catalog.sql.sql_views import SqlViews
from sqlext.catalog.sql.table_folders import TableFolders
from sqlext.catalog.view_catalog import ViewCatalog
from sqlext.errors import (
    AlreadyExistsError,
    AnalysisError,
    CommitConflict,
    CommitStateUnknown,
    NotFoundError,
    SqlextError,
)
from sqlext.properties import GC_ENABLED
from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata
from sqlext.storage.allowed_locations import ALLOWED_LOCATIONS, AllowedLocations
from sqlext.storage.clock import system_clock
from sqlext.storage.file_io import FolderIO
from sqlext.storage.in_threads import Each, in_threads
from sqlext.storage.location import configured_location, join, require_below

_LOAD_ATTEMPTS = 3
# Length of the suffix of a table's folder if another table uses the plain name.
_DISTINCT_DIGITS = 8


class SqlCatalog:
    """Tables and views of one catalog name in a database; by default their files are below `warehouse`."""

    def __init__(
        self,
        name: str,
        warehouse: str,
        io: FolderIO,
        records: CatalogRecords,
        *,
        allowed: AllowedLocations | None = None,
        undrop_retention_ms: int = 0,
        new_uuid: Callable[[], uuid.UUID] = uuid.uuid4,
        clock: Callable[[], int] = system_clock,
        each: Each = in_threads,
    ) -> None:
        """`warehouse` is a location or a local path, and need not exist. `allowed`: where PURGE may delete, by default
        in the warehouse only.

        Dropped tables can be restored for `undrop_retention_ms`. `clock` gives milliseconds since 1970. `each` is as in
        `TableFolders`.
        """
        self._names = CatalogNames(name)
        self._io = io
        self._records = records
        self._new_uuid = new_uuid
        self._undrop_retention_ms = undrop_retention_ms
        self._clock = clock
        self._root = configured_location(warehouse)
        self._allowed = allowed or AllowedLocations((self._root,))
        self._files = MetadataFiles(io, new_uuid)
        self._folders = TableFolders(io, records, self._root, each)
        self._views = SqlViews(self._names, io, records, self._files, self._location_of, self._require_namespace)

    @property
    def name(self) -> str:
        return self._names.catalog

    @property
    def io(self) -> FolderIO:
        return self._io

    @property
    def views(self) -> ViewCatalog:
        return self._views

    # tables

    def load_table(self, identifier: TableIdentifier) -> LoadedTable:
        for attempt in range(_LOAD_ATTEMPTS):
            location = self._required(identifier).metadata_location
            try:
                return LoadedTable(identifier, self._files.read_table(location), location)
            except FileNotFoundError:
                # Trimmed by a newer commit, or purged, after the lookup of its name.
                if attempt + 1 == _LOAD_ATTEMPTS:
                    raise NotFoundError("FILE_NOT_FOUND", path=location, kind="table metadata") from None
        raise AssertionError("the loop returns or raises")

    def current_metadata_location(self, identifier: TableIdentifier) -> str:
        return self._required(identifier).metadata_location

    def is_current(self, table: LoadedTable) -> bool:
        """Compares the location, which is unique to a version."""
        return self._records.find(table.identifier) == Record(TABLE, table.metadata_location)

    def load_version(self, current: LoadedTable, location: str) -> LoadedTable:
        return LoadedTable(current.identifier, self._files.read_table(location), location)

    @property
    def keeps_timestamps(self) -> bool:
        return True

    @property
    def compares_properties(self) -> bool:
        return True

    @property
    def keeps_files_of_clones(self) -> bool:
        return True

    def table_exists(self, identifier: TableIdentifier) -> bool:
        return self._records.find(identifier) is not None

    def commit(self, identifier: TableIdentifier, base: LoadedTable | None, updated: TableMetadata) -> LoadedTable:
        if base is None:
            return self._create(identifier, updated)
        metadata = logged(updated, base.metadata, base.metadata_location)
        location = self._files.write_table(metadata, base.metadata_location)
        before, after = Record(TABLE, base.metadata_location), Record(TABLE, location)
        if not self._settled(identifier, location, lambda: self._records.swap(identifier, before, after)):
            self._files.discard(location)
            self._required(identifier)
            reason = "another writer has changed the table"
            raise self._names.conflict(identifier, reason)
        self._files.trim(base.metadata, metadata, (base.metadata_location, location))
        return LoadedTable(identifier, metadata, location)

    def commit_tables(self, changes: Sequence[TableCommit], unchanged: Sequence[LoadedTable] = ()) -> None:
        written: list[tuple[TableCommit, TableMetadata, str]] = []
        try:
            for change in changes:
                if change.base is None:
                    self._require_creatable(change.identifier, change.updated)
                written.append((change, *self._write(change)))
            landed = self._swap_all(written, unchanged)
        except CommitStateUnknown:
            raise
        except BaseException:
            self._discard_all(written)
            raise
        if not landed:
            self._discard_all(written)
            raise self._overtaken([(one.identifier, one.base) for one in changes] + _held(unchanged))
        for change, metadata, location in written:
            if change.base is not None:
                self._files.trim(change.base.metadata, metadata, (change.base.metadata_location, location))

    def replace_damaged(self, identifier: TableIdentifier, damaged: str, metadata: TableMetadata) -> LoadedTable:
        location = self._files.write_table(metadata, damaged)
        before, after = Record(TABLE, damaged), Record(TABLE, location)
        if not self._settled(identifier, location, lambda: self._records.swap(identifier, before, after)):
            self._files.discard(location)
            raise self._conflict(identifier, "another writer has changed the table")
        return LoadedTable(identifier, metadata, location)

    def may_still_land(self, change: TableCommit, current: LoadedTable) -> bool:
        """False: the UPDATE is conditional on the previous location, and locations do not recur."""
        return False

    def require_joint(self, changes: Sequence[TableCommit]) -> None:
        """All can: they are one transaction of the database."""

    def _write(self, change: TableCommit) -> tuple[TableMetadata, str]:
        """The metadata of one table of a commit, and its new file."""
        if change.base is None:
            return change.updated, self._files.write_table(change.updated, None)
        metadata = logged(change.updated, change.base.metadata, change.base.metadata_location)
        return metadata, self._files.write_table(metadata, change.base.metadata_location)

    def _swap_all(
        self, written: Sequence[tuple[TableCommit, TableMetadata, str]], unchanged: Sequence[LoadedTable]
    ) -> bool:
        kept = [Record(TABLE, table.metadata_location) for table in unchanged]
        held = [(table.identifier, record, record) for table, record in zip(unchanged, kept, strict=True)]
        rows = [
            (
                change.identifier,
                None if change.base is None else Record(TABLE, change.base.metadata_location),
                Record(TABLE, location),
            )
            for change, _, location in written
        ]
        try:
            with answered(", ".join(self._names.table(identifier) for identifier, _, _ in (rows or held))):
                return self._records.change_all([*rows, *held])
        except DuplicateKey:
            return False
        except CommitStateUnknown:
            # They are atomic: one suffices to see whether all were made.
            if all(self._records.find(identifier) == after for identifier, _, after in rows):
                return True
            raise

    def _discard_all(self, written: Sequence[tuple[TableCommit, TableMetadata, str]]) -> None:
        for _, _, location in written:
            self._files.discard(location)

    def _overtaken(self, tables: Sequence[tuple[TableIdentifier, LoadedTable | None]]) -> CommitConflict:
        """The conflict, naming the first table that differs from the commit's base."""
        for identifier, base in tables:
            found = self._records.find(identifier)
            if base is None and found is not None:
                return self._conflict(identifier, "it has been made meanwhile")
            if base is not None and (found is None or found.metadata_location != base.metadata_location):
                return self._conflict(identifier, "it has a newer version, or is gone")
        return self._conflict(tables[0][0], "another writer has changed one of the tables")

    def _conflict(self, identifier: TableIdentifier, reason: str) -> CommitConflict:
        return self._names.conflict(identifier, reason)

    def default_table_location(self, identifier: TableIdentifier) -> str:
        """`<warehouse>/<namespace>/<name>`, with a suffix if a table that has since been renamed uses that folder."""
        plain = self._location_of(identifier)
        if self._folders.user_of(plain) is None or self._records.find(identifier) is not None:
            return plain
        return f"{plain}-{self._new_uuid().hex[:_DISTINCT_DIGITS]}"

    def owned_by(self, table: LoadedTable) -> Callable[[str], bool]:
        return owned_by(table.metadata, self._allowed, self._is_of_another(table))

    def remove_empty_folders(self, identifier: TableIdentifier) -> None:
        """No change: the location is not determined by the name."""

    def list_tables(self, namespace: Namespace) -> tuple[TableIdentifier, ...]:
        self._require_namespace(namespace)
        return tuple(TableIdentifier(namespace, name) for name in self._records.names(namespace, TABLE))

    def drop_table(self, identifier: TableIdentifier, purge: bool) -> bool:
        """Without `purge` the files stay. Raises UnsupportedError for a purge if `gc.enabled` is false, or if own files
        are where the catalog may not delete."""
        while True:
            record = self._records.find(identifier)
            if record is None:
                return False
            if record.kind != TABLE:
                raise self._names.is_view(identifier)
            found = without_clones(self, self._names, identifier)
            table = found if purge else None
            if table is not None:
                self._require_purgeable(table)
            if table is not None and table.metadata_location != record.metadata_location:
                continue
            with answered(self._names.table(identifier)):
                if self._removed(identifier, record, purge):
                    break
        if table is not None:
            purge_files(self._io, self._owned_files(table), table.metadata.location)
        release_source(self, found, system_clock)
        return True

    def _require_purgeable(self, table: LoadedTable) -> None:
        reason = None
        if not GC_ENABLED.of(table.metadata.properties):
            reason = f"{GC_ENABLED.name} is false, so other tables may use its files"
        elif (elsewhere := folder_elsewhere(table.metadata, self._allowed)) is not None:
            reason = f"its files in {elsewhere} are outside of the warehouse and of the setting {ALLOWED_LOCATIONS}"
        if reason is not None:
            operation = f"DROP TABLE {self._names.table(table.identifier)} PURGE"
            raise self._names.unsupported(operation, reason, "Leave PURGE out.")

    def _owned_files(self, table: LoadedTable) -> tuple[str, ...]:
        """The files that PURGE deletes. The table has left the catalog, but may be among retained dropped tables."""
        is_of_another = self._is_of_another(table)
        return tuple(owned_files(self._io, table.metadata, table.metadata_location, self._allowed, is_of_another))

    def _is_of_another(self, table: LoadedTable) -> Callable[[str], bool]:
        """A function: whether a location, with links resolved, is in the folder of another table, retained dropped ones
        included."""
        folders = own_folders(table.metadata)
        others = self._folders.of_others(table.metadata, table.metadata_location, folders)
        return in_any_folder(others.__contains__)

    def _removed(self, identifier: TableIdentifier, record: Record, purge: bool) -> bool:
        if purge or not self._undrop_retention_ms:
            return self._records.delete(identifier, record)
        now_ms = self._clock()
        return self._records.drop(identifier, record, now_ms, now_ms - self._undrop_retention_ms)

    def register_table(self, identifier: TableIdentifier, metadata_location: str) -> LoadedTable:
        exists = self._names.taken(identifier)
        if self._records.find(identifier) is not None:
            raise exists
        self._require_namespace(identifier.namespace)
        metadata = decode_table_metadata(self._io.read(metadata_location), metadata_location)
        folder = metadata_location.rpartition("/")[0]
        _require_free(metadata.location, self._folders.user_of(metadata.location, dropped=False))
        _require_free(folder, self._folders.owner_of(folder, dropped=False))
        try:
            with answered(self._names.table(identifier)):
                self._records.insert(identifier, Record(TABLE, metadata_location))
        except DuplicateKey:
            raise exists from None
        return LoadedTable(identifier, metadata, metadata_location)

    def undrop_table(self, identifier: TableIdentifier) -> None:
        self._require_namespace(identifier.namespace)
        exists = self._names.taken(identifier)
        if self._records.find(identifier) is not None:
            raise exists
        since_ms = self._clock() - self._undrop_retention_ms
        for name, location, _ in self._records.dropped(identifier.namespace, since_ms):
            if name == identifier.name:
                # The table may have been registered since.
                folder = self._folders.location_of(MetadataRow(TABLE, identifier.namespace, name, location))
                _require_free(folder, self._folders.user_of(folder, dropped=False))
                try:
                    with answered(self._names.table(identifier)):
                        restored = self._records.restore(identifier, location)
                except DuplicateKey:
                    raise exists from None
                if restored:
                    return
        raise NotFoundError("DROPPED_TABLE_NOT_FOUND", name=self._names.table(identifier))

    def dropped_tables(self, namespace: Namespace) -> tuple[DroppedTable, ...]:
        found = self._records.dropped(namespace, self._clock() - self._undrop_retention_ms)
        return tuple(DroppedTable(TableIdentifier(namespace, name), at_ms) for name, _, at_ms in found)

    def rename_table(self, identifier: TableIdentifier, to: TableIdentifier) -> None:
        self._required(identifier)
        without_clones(self, self._names, identifier, "renamed")
        self._require_namespace(to.namespace)
        try:
            with answered(self._names.table(identifier)):
                renamed = self._records.rename(identifier, to, TABLE)
        except DuplicateKey:
            raise self._names.taken(to) from None
        if not renamed:
            raise self._names.not_found(identifier)

    # namespaces

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        check_namespace(namespace)
        exists = self._names.namespace_taken(namespace)
        if self.namespace_exists(namespace):
            raise exists
        if len(namespace) > 1 and self._records.find(TableIdentifier(namespace[:-1], namespace[-1])) is not None:
            raise self._names.namespace_is_table(namespace)
        try:
            with answered(self._names.namespace(namespace)):
                self._records.insert_namespace(namespace, properties)
        except DuplicateKey:
            raise exists from None

    def namespace_exists(self, namespace: Namespace) -> bool:
        if not namespace:
            return True
        check_namespace(namespace)
        return namespace in self._records.namespaces()

    def list_namespaces(self, parent: Namespace = ()) -> tuple[Namespace, ...]:
        known = self._records.namespaces()
        if parent and parent not in known:
            raise self._names.namespace_not_found(parent)
        return tuple(sorted(one for one in known if one[:-1] == parent))

    def load_namespace(self, namespace: Namespace) -> Mapping[str, str]:
        self._require_namespace(namespace)
        return {"location": join(self._root, *namespace), **self._records.properties(namespace)}

    def set_namespace_properties(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        self._require_namespace(namespace)
        with answered(self._names.namespace(namespace)):
            self._records.change_properties(namespace, properties, ())

    def remove_namespace_properties(self, namespace: Namespace, names: frozenset[str]) -> None:
        self._require_namespace(namespace)
        with answered(self._names.namespace(namespace)):
            self._records.change_properties(namespace, {}, names)

    def drop_namespace(self, namespace: Namespace, cascade: bool) -> bool:
        if not self.namespace_exists(namespace):
            return False
        if cascade:
            for table in clones_first(self, self._names, list(all_tables(self, namespace))):
                self.drop_table(table, purge=False)
            for child in self.list_namespaces(namespace):
                self.drop_namespace(child, cascade=True)
            for view in self._views.list_views(namespace):
                self._views.drop_view(view)
        held = [quoted(*child) for child in self.list_namespaces(namespace)]
        for kind in (TABLE, VIEW):
            held += [str(TableIdentifier(namespace, name)) for name in self._records.names(namespace, kind)]
        if held:
            raise self._names.namespace_not_empty(namespace, held)
        with answered(self._names.namespace(namespace)):
            self._records.delete_namespace(namespace)
        return True

    # the compare-and-swap

    def _require_creatable(self, identifier: TableIdentifier, metadata: TableMetadata) -> None:
        """Raises AlreadyExistsError, NotFoundError for the namespace, or AnalysisError LOCATION_IN_USE."""
        if self._records.find(identifier) is not None:
            raise self._exists(identifier)
        self._require_namespace(identifier.namespace)
        there = self._folders.user_of(metadata.location)
        if there is not None and self._records.find(identifier) is not None:
            raise self._exists(identifier)
        _require_free(metadata.location, there)

    def _exists(self, identifier: TableIdentifier) -> AlreadyExistsError:
        return self._names.taken(identifier)

    def _create(self, identifier: TableIdentifier, metadata: TableMetadata) -> LoadedTable:
        self._require_creatable(identifier, metadata)
        location = self._files.write_table(metadata, None)
        record = Record(TABLE, location)
        try:
            self._settled(identifier, location, lambda: self._records.insert(identifier, record))
        except DuplicateKey:
            self._files.discard(location)
            raise self._exists(identifier) from None
        return LoadedTable(identifier, metadata, location)

    def _settled(self, identifier: TableIdentifier, location: str, change: Callable[[], object]) -> object:
        """The result of `change`. After a failure the metadata file is deleted, without an answer it stays."""
        try:
            with answered(self._names.table(identifier)):
                return change()
        except CommitStateUnknown:
            raise
        except SqlextError:
            self._files.discard(location)
            raise

    # locations

    def _location_of(self, identifier: TableIdentifier) -> str:
        """The default location of a table or view: in its namespace's `location`, if set, else in the warehouse.

        Raises AnalysisError PATH_OUTSIDE_WAREHOUSE if a symbolic link in the warehouse leads elsewhere.
        """
        folder = self._records.properties(identifier.namespace).get("location")
        if folder:
            return join(folder, identifier.name)
        location = join(self._root, *identifier.namespace, identifier.name)
        require_below(location, self._root)
        return location

    # records

    def _required(self, identifier: TableIdentifier) -> Record:
        record = self._records.find(identifier)
        if record is None:
            raise self._names.not_found(identifier)
        if record.kind != TABLE:
            raise self._names.is_view(identifier)
        return record

    def _require_namespace(self, namespace: Namespace) -> None:
        if not self.namespace_exists(namespace):
            raise self._names.namespace_not_found(namespace)


def _held(unchanged: Sequence[LoadedTable]) -> list[tuple[TableIdentifier, LoadedTable | None]]:
    return [(table.identifier, table) for table in unchanged]


def _require_free(location: str, user: str | None) -> None:
    if user is not None:
        raise AnalysisError("LOCATION_IN_USE", location=location, other=user)
