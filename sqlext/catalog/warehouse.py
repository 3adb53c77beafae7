"""A catalog in a folder: namespaces are folders in it, tables are folders in namespaces.

The layout is that of Iceberg's Hadoop catalog, so Iceberg opens the same folder. The compare-and-swap of a table is the
creation of the next numbered metadata file, in which only one of several writers succeeds.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from sqlext.catalog.catalog import LoadedTable, TableCommit, all_tables
from sqlext.catalog.catalog_names import CatalogNames
from sqlext.catalog.clone_tag import clones_first, readable, release_source, without_clones
from sqlext.catalog.dropped_folders import DroppedFolders
from sqlext.catalog.dropped_table import UNDROP_RETENTION, DroppedTable
from sqlext.catalog.identifier import Namespace, TableIdentifier, check_namespace, quoted
from sqlext.catalog.metadata_file import MetadataFolder, MetadataVersion
from sqlext.catalog.owned_files import folder_elsewhere, in_any_folder, owned_by, owned_files
from sqlext.catalog.transaction_outcomes import Outcomes
from sqlext.catalog.view_catalog import ViewCatalog
from sqlext.catalog.warehouse_commit import WarehouseCommits
from sqlext.catalog.warehouse_views import WarehouseViews
from sqlext.errors import (
    AlreadyExistsError,
    AnalysisError,
    NotFoundError,
    SqlextError,
    StorageError,
    UnsupportedError,
)
from sqlext.properties import GC_ENABLED, METADATA_PATH
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.metadata.view_metadata import is_view_metadata
from sqlext.storage.allowed_locations import ALLOWED_LOCATIONS, AllowedLocations, resolved
from sqlext.storage.clock import system_clock
from sqlext.storage.file_io import FolderIO
from sqlext.storage.location import (
    as_location,
    configured_location,
    is_below,
    is_object,
    join,
    require_below,
    same_place,
)

# Spark sets these on every namespace that it creates.
_SET_BY_SPARK = frozenset({"owner"})
# Names of namespaces do not begin with a dot.
_TRANSACTIONS = ".transactions"


class WarehouseCatalog:
    """Tables below one folder of a store that has create-if-absent."""

    def __init__(
        self,
        name: str,
        warehouse: str,
        io: FolderIO,
        *,
        allowed: AllowedLocations | None = None,
        undrop_retention_ms: int = 0,
        clock: Callable[[], int] = system_clock,
        new_uuid: Callable[[], uuid.UUID] = uuid.uuid4,
    ) -> None:
        """`warehouse` is a location or a local path, and need not exist. `allowed`: where PURGE may delete, by default
        in the warehouse only.

        Dropped tables are retained for `undrop_retention_ms`. `clock` gives milliseconds since 1970.
        """
        self._names = CatalogNames(name)
        self._io = io
        self._root = configured_location(warehouse)
        as_location(self._root)
        self._allowed = allowed or AllowedLocations((self._root,))
        self._dropped = DroppedFolders(self._root, undrop_retention_ms, clock)
        outcomes = Outcomes(io, join(self._root, _TRANSACTIONS), clock)
        self._commits = WarehouseCommits(
            self._names, io, self._metadata_folder, outcomes, clock=clock, new_uuid=new_uuid
        )
        self._views = WarehouseViews(
            self._names, io, self.default_table_location, self._list_folders, self._require_place
        )

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
        folder = self._metadata_folder(identifier)
        missing: MetadataVersion | None = None
        while True:
            version = self._required_version(folder, identifier)
            if version == missing:
                raise NotFoundError("FILE_NOT_FOUND", path=version.location, kind="table metadata")
            try:
                data = self._io.read(version.location)
            except FileNotFoundError:
                # Trimmed by a newer commit, or dropped, after the lookup of its name.
                missing = version
                continue
            if is_view_metadata(data):
                raise self._names.is_view(identifier)
            seen = self._commits.as_seen(self._commits.decoded(identifier, data, version.location))
            if seen is not None:
                return seen

    def current_metadata_location(self, identifier: TableIdentifier) -> str:
        return self._required_version(self._metadata_folder(identifier), identifier).location

    def is_current(self, table: LoadedTable) -> bool:
        """Compares the uuid, not the location alone, since a recreated table uses the same names."""
        try:
            current = self.load_table(table.identifier)
        except NotFoundError:
            return False
        is_same = current.metadata.table_uuid == table.metadata.table_uuid
        return is_same and current.metadata_location == table.metadata_location

    def load_version(self, current: LoadedTable, location: str) -> LoadedTable:
        return self._commits.version(current, location)

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
        return self._metadata_folder(identifier).holds_metadata()

    def default_table_location(self, identifier: TableIdentifier) -> str:
        location = join(self._root, *identifier.namespace, identifier.name)
        require_below(location, self._root)
        return location

    def commit(self, identifier: TableIdentifier, base: LoadedTable | None, updated: TableMetadata) -> LoadedTable:
        self._require_supported(identifier, updated)
        if base is not None:
            return self._commits.replace(identifier, base, updated)
        self._require_place(identifier.namespace)
        return self._commits.create(identifier, updated)

    def commit_tables(self, changes: Sequence[TableCommit], unchanged: Sequence[LoadedTable] = ()) -> None:
        """Raises UnsupportedError also if a table is created together with other changes."""
        if len(changes) == 1 and not unchanged:
            self.commit(changes[0].identifier, changes[0].base, changes[0].updated)
            return
        for change in changes:
            self._require_supported(change.identifier, change.updated)
            if change.base is None:
                raise self._not_with_others(change.identifier)
        self._commits.replace_all(changes, unchanged)

    def replace_damaged(self, identifier: TableIdentifier, damaged: str, metadata: TableMetadata) -> LoadedTable:
        self._require_supported(identifier, metadata)
        return self._commits.replace_damaged(identifier, damaged, metadata)

    def may_still_land(self, change: TableCommit, current: LoadedTable) -> bool:
        """False: each version has one possible successor."""
        return False

    def require_joint(self, changes: Sequence[TableCommit]) -> None:
        made = next((change.identifier for change in changes if change.base is None), None)
        if made is not None and len(changes) > 1:
            raise self._not_with_others(made)

    def _not_with_others(self, made: TableIdentifier) -> SqlextError:
        return self._names.unsupported(
            f"Making {made} in a transaction that depends on other tables too",
            "a table in a folder is there as soon as its first file is",
            "Make the table before the transaction.",
        )

    def owned_by(self, table: LoadedTable) -> Callable[[str], bool]:
        return owned_by(table.metadata, self._allowed, self._is_of_another(table))

    def remove_empty_folders(self, identifier: TableIdentifier) -> None:
        location = self.default_table_location(identifier)
        with suppress(StorageError, OSError):
            if not self._metadata_folder(identifier).holds_metadata():
                self._io.delete_empty_folder(location)

    def list_tables(self, namespace: Namespace) -> tuple[TableIdentifier, ...]:
        return tuple(one for one in self._list_folders(namespace) if not self._views.view_exists(one))

    def drop_table(self, identifier: TableIdentifier, purge: bool) -> bool:
        """Deletes the folder; `purge` also deletes the table's own files outside it.

        Raises UnsupportedError for a purge if `gc.enabled` is false, so that other tables may use the files, or if own
        files are where the catalog may not delete.
        """
        location = self.default_table_location(identifier)
        folder = self._metadata_folder(identifier)
        if not folder.holds_metadata():
            return False
        if folder.holds_view():
            raise self._names.is_view(identifier)
        table = without_clones(self, self._names, identifier)
        reason = self._why_no_purge(table) if purge else None
        if reason is not None:
            raise self._names.unsupported(
                f"DROP TABLE {self._names.table(identifier)} PURGE", reason, "Leave PURGE out."
            )
        self._dropped.expire(identifier.namespace)
        outside = self._files_outside(identifier, location) if purge else ()
        # The folder goes without a compare-and-swap: a clone that was made meanwhile is looked for as late as possible.
        without_clones(self, self._names, identifier)
        if not self._remove_folder(identifier, folder, location, kept=not purge):
            return False
        for path in outside:
            with suppress(SqlextError):
                self._io.delete(path)
        release_source(self, table, system_clock)
        return True

    def _remove_folder(self, identifier: TableIdentifier, folder: MetadataFolder, location: str, kept: bool) -> bool:
        """False if it was gone. Raises CommitStateUnknown if the store does not say whether it is."""
        try:
            if kept and self._dropped.keeps:
                self._dropped.keep(identifier, location)
            else:
                self._io.delete_folder(location)
        except FileNotFoundError:
            return False
        except Exception as error:
            with self._commits.landed(identifier):
                if not folder.holds_metadata():
                    return True
            if isinstance(error, SqlextError):
                raise
            raise self._commits.unknown(identifier, str(error) or type(error).__name__) from error
        return True

    def register_table(self, identifier: TableIdentifier, metadata_location: str) -> LoadedTable | None:
        return None

    def _way_to_undrop(self) -> str:
        if is_object(self._root):
            return "A catalog in a database leaves the files in the store."
        return f"Set spark.sql.catalog.{self._names.catalog}.{UNDROP_RETENTION} to keep them for a time, such as 7d."

    def undrop_table(self, identifier: TableIdentifier) -> None:
        if not self._dropped.keeps:
            raise self._names.unsupported(
                f"UNDROP TABLE {self._names.table(identifier)}",
                "a folder's DROP TABLE deletes its files",
                self._way_to_undrop(),
            )
        exists = self._names.taken(identifier)
        if self.table_exists(identifier):
            raise exists
        self._require_place(identifier.namespace)
        try:
            restored = self._dropped.restore(identifier, self.default_table_location(identifier))
        except FileExistsError:
            raise exists from None
        if not restored:
            raise NotFoundError("DROPPED_TABLE_NOT_FOUND", name=self._names.table(identifier))

    def dropped_tables(self, namespace: Namespace) -> tuple[DroppedTable, ...]:
        check_namespace(namespace)
        return self._dropped.tables(namespace)

    def rename_table(self, identifier: TableIdentifier, to: TableIdentifier) -> None:
        self.current_metadata_location(identifier)
        raise UnsupportedError("RENAME_NOT_SUPPORTED", name=self._names.table(identifier))

    # namespaces

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        location = self._namespace_location(namespace)
        self._require_no_properties(namespace, properties, location)
        self._require_namespaces_only(namespace)
        try:
            self._io.create_folder(location)
        except FileExistsError:
            raise self._names.namespace_taken(namespace) from None

    def namespace_exists(self, namespace: Namespace) -> bool:
        location = self._namespace_location(namespace) if namespace else self._root
        return self._io.folder_exists(location) and not self._is_table(location)

    def list_namespaces(self, parent: Namespace = ()) -> tuple[Namespace, ...]:
        if not parent and not self._io.folder_exists(self._root):
            return ()
        location = self._required_namespace(parent) if parent else self._root
        return tuple(
            (*parent, name)
            for name in self._io.list_folders(location)
            if _is_valid(parent, name) and not self._is_table(join(location, name))
        )

    def load_namespace(self, namespace: Namespace) -> Mapping[str, str]:
        return {"location": self._required_namespace(namespace)}

    def set_namespace_properties(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        self._require_no_properties(namespace, properties, self._required_namespace(namespace))

    def remove_namespace_properties(self, namespace: Namespace, names: frozenset[str]) -> None:
        """No change: namespaces have no properties."""
        self._required_namespace(namespace)

    def drop_namespace(self, namespace: Namespace, cascade: bool) -> bool:
        location = self._namespace_location(namespace)
        if not self.namespace_exists(namespace):
            return False
        if cascade:
            for table in clones_first(self, self._names, list(all_tables(self, namespace))):
                self.drop_table(table, purge=self._why_no_purge(readable(self, table)) is None)
            for child in self.list_namespaces(namespace):
                self.drop_namespace(child, cascade=True)
            for view in self._views.list_views(namespace):
                self._views.drop_view(view)
        if not self._io.delete_empty_folder(location):
            raise AnalysisError(
                "SCHEMA_NOT_EMPTY", name=self._names.namespace(namespace), holds=self._contents(namespace)
            )
        return True

    def _require_supported(self, identifier: TableIdentifier, updated: TableMetadata) -> None:
        expected = self.default_table_location(identifier)
        if same_place(updated.location) != same_place(expected):
            raise self._names.unsupported(
                f"The location {updated.location} for the table {identifier}",
                "a warehouse folder finds a table by its name",
                f"Leave the location out, and the table goes to {expected}.",
            )
        if METADATA_PATH.name in updated.properties:
            raise self._names.unsupported(
                f"The table property {METADATA_PATH.name}",
                "a warehouse folder finds the metadata of a table in the table's own folder",
                "Leave the property out.",
            )

    # folders

    def _metadata_folder(self, identifier: TableIdentifier) -> MetadataFolder:
        return MetadataFolder(self._io, self.default_table_location(identifier))

    def _required_version(self, folder: MetadataFolder, identifier: TableIdentifier) -> MetadataVersion:
        version = folder.current()
        if version is None:
            raise self._names.not_found(identifier)
        return version

    def _list_folders(self, namespace: Namespace) -> tuple[TableIdentifier, ...]:
        """The tables and views directly in the namespace, sorted."""
        location = self._required_namespace(namespace)
        return tuple(
            TableIdentifier(namespace, name)
            for name in self._io.list_folders(location)
            if _is_valid(namespace, name) and self._is_table(join(location, name))
        )

    def _is_table(self, location: str) -> bool:
        """Whether it is the folder of a table or view."""
        has_metadata = self._io.folder_exists(join(location, "metadata"))
        return has_metadata and MetadataFolder(self._io, location).holds_metadata()

    def _namespace_location(self, namespace: Namespace) -> str:
        check_namespace(namespace)
        location = join(self._root, *namespace)
        require_below(location, self._root)
        return location

    def _required_namespace(self, namespace: Namespace) -> str:
        if not self.namespace_exists(namespace):
            raise self._names.namespace_not_found(namespace)
        return self._namespace_location(namespace) if namespace else self._root

    def _require_place(self, namespace: Namespace) -> None:
        """Raises AlreadyExistsError for a namespace that is a table, NotFoundError SCHEMA_NOT_FOUND for a missing
        one."""
        self._require_namespaces_only(namespace)
        if namespace:
            self._required_namespace(namespace)

    def _require_namespaces_only(self, namespace: Namespace) -> None:
        for depth in range(1, len(namespace) + 1):
            if self._is_table(self._namespace_location(namespace[:depth])):
                name = self._names.namespace(namespace[:depth])
                raise AlreadyExistsError("TABLE_OR_VIEW_ALREADY_EXISTS", name=name)

    def _why_no_purge(self, table: LoadedTable | None) -> str | None:
        """Why the table's files cannot all be deleted; None if they can. The files of a damaged table (None) are those
        in its folder."""
        if table is None:
            return None
        if not GC_ENABLED.of(table.metadata.properties):
            return f"{GC_ENABLED.name} is false, so other tables may use its files"
        elsewhere = folder_elsewhere(table.metadata, self._allowed)
        if elsewhere is not None:
            return f"its files in {elsewhere} are outside of the warehouse and of the setting {ALLOWED_LOCATIONS}"
        return None

    def _files_outside(self, identifier: TableIdentifier, location: str) -> tuple[str, ...]:
        """The table's own files outside its folder, without those in folders of other tables."""
        try:
            table = self.load_table(identifier)
        except SqlextError:
            return ()
        is_of_another = self._is_of_another(table)
        owned = owned_files(self._io, table.metadata, table.metadata_location, self._allowed, is_of_another)
        return tuple(path for path in owned if not is_below(location, path))

    def _is_of_another(self, table: LoadedTable) -> Callable[[str], bool]:
        """A function: whether a location, with links resolved, is in the folder of another table or view."""
        root, own = resolved(self._root), resolved(self.default_table_location(table.identifier))
        others = in_any_folder(lambda folder: is_below(root, folder) and folder != own and self._is_table(folder))
        # No table is in the folder of another one, so nothing below the own folder has to be looked at.
        return lambda location: not is_below(own, location) and others(location)

    def _contents(self, namespace: Namespace) -> str:
        names = [str(identifier) for identifier in self._list_folders(namespace)]
        names += [quoted(*child) for child in self.list_namespaces(namespace)]
        return ", ".join(names[:5]) + (" and more" if len(names) > 5 else "") if names else "files of no table"

    def _require_no_properties(self, namespace: Namespace, properties: Mapping[str, str], location: str) -> None:
        for name, value in properties.items():
            if name in _SET_BY_SPARK or (name == "location" and same_place(value) == same_place(location)):
                continue
            if name == "comment" and not value:
                continue
            raise self._names.unsupported(
                f"The property {name} of the namespace {quoted(*namespace)}",
                "a warehouse folder has no place to keep it",
                "Leave it out.",
            )


def _is_valid(namespace: Namespace, name: str) -> bool:
    """Whether an existing folder has a valid name."""
    try:
        check_namespace((*namespace, name))
    except AnalysisError:
        return False
    return True
