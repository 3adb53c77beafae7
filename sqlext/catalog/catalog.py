"""The interface of all catalogs: names, and a compare-and-swap of each table's metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlext.catalog.dropped_table import DroppedTable
from sqlext.catalog.identifier import Namespace, TableIdentifier
from sqlext.catalog.view_catalog import ViewCatalog
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """One version of a table: its metadata and the location of the metadata file."""

    identifier: TableIdentifier
    metadata: TableMetadata
    metadata_location: str


@dataclass(frozen=True, slots=True)
class TableCommit:
    """The change of one table within a commit of several; fields as the arguments of `Catalog.commit`."""

    identifier: TableIdentifier
    base: LoadedTable | None
    updated: TableMetadata


class Catalog(Protocol):
    """Tables by name.

    Every method that takes a name raises AnalysisError INVALID_NAME for an invalid one, and NotFoundError for a missing
    table or namespace.
    """

    @property
    def name(self) -> str:
        """The catalog's name in SQL."""

    @property
    def io(self) -> FileIO:
        """Reads and writes the files of the catalog's tables."""

    @property
    def views(self) -> ViewCatalog:
        """The catalog's views; no view has the name of a table."""

    def load_table(self, identifier: TableIdentifier) -> LoadedTable:
        """The current version. Raises CorruptionError or NotFoundError FILE_NOT_FOUND for a damaged table.

        As all methods for tables it raises AnalysisError EXPECT_TABLE_NOT_VIEW for the name of a view.
        """

    def current_metadata_location(self, identifier: TableIdentifier) -> str:
        """The location of the current metadata file, which is not read."""

    def is_current(self, table: LoadedTable) -> bool:
        """Whether `load_table` would return `table`; False if it was dropped. The catalog is asked, not a cache."""

    def load_version(self, current: LoadedTable, location: str) -> LoadedTable:
        """Another version of the table `current`, from its metadata file, such as one in the log. Raises as
        `load_table`, and StorageError."""

    @property
    def keeps_timestamps(self) -> bool:
        """Whether versions keep the `last-updated-ms` that their commits set."""

    @property
    def compares_properties(self) -> bool:
        """Whether a commit fails if another one has changed properties of the table, and nothing else."""

    @property
    def keeps_files_of_clones(self) -> bool:
        """Whether tables of the catalog may be cloned: it drops and renames none that has the tag of a clone."""

    def table_exists(self, identifier: TableIdentifier) -> bool:
        """Whether the name is taken, by a table, intact or damaged, or by a view."""

    def commit(self, identifier: TableIdentifier, base: LoadedTable | None, updated: TableMetadata) -> LoadedTable:
        """Replaces the table's metadata by `updated` if `base` is current; creates the table if `base` is None.

        Raises CommitConflict if `base` is not current, AlreadyExistsError if the table to create exists, and
        CommitStateUnknown if there is no conclusive answer, so that the change may have been made. After any other
        error it was not made.
        """

    def commit_tables(self, changes: Sequence[TableCommit], unchanged: Sequence[LoadedTable] = ()) -> None:
        """Commits all changes, which are of different tables, or none. Raises as `commit`.

        The tables `unchanged` are other ones. Raises CommitConflict unless all are still at these versions at one
        moment after the start of the call, and before any of the changes becomes visible.
        """

    def replace_damaged(self, identifier: TableIdentifier, damaged: str, metadata: TableMetadata) -> LoadedTable:
        """Makes `metadata` the current version of a table whose current metadata file, at `damaged`, cannot be read.

        The file stays. Raises CommitConflict if another file is the current one, UnsupportedError if the catalog does
        not let its clients write metadata files, and in a transaction.
        """

    def may_still_land(self, change: TableCommit, current: LoadedTable) -> bool:
        """Whether a delayed request for `change` could still succeed, though the table is at a newer version `current`
        without the change."""

    def require_joint(self, changes: Sequence[TableCommit]) -> None:
        """Raises UnsupportedError if the catalog cannot commit these changes atomically."""

    def default_table_location(self, identifier: TableIdentifier) -> str:
        """The folder of a table that is created without a location."""

    def owned_by(self, table: LoadedTable) -> Callable[[str], bool]:
        """A function: whether a file is the table's to delete once nothing needs it, by its location.

        A file in a folder of another table is not, as far as the catalog knows the folders of its tables. Raises
        UnsupportedError in a transaction, since a deletion cannot be taken back.
        """

    def remove_empty_folders(self, identifier: TableIdentifier) -> None:
        """Removes the empty folders of a failed creation; never a table or a file."""

    def list_tables(self, namespace: Namespace) -> tuple[TableIdentifier, ...]:
        """The tables directly in the namespace, sorted."""

    def drop_table(self, identifier: TableIdentifier, purge: bool) -> bool:
        """Removes the table from the catalog, and with `purge` all its files; False if it does not exist.

        Raises AnalysisError TABLE_HAS_CLONES if `keeps_files_of_clones`, and StorageError or OSError if the store does
        not say whether it has.
        """

    def register_table(self, identifier: TableIdentifier, metadata_location: str) -> LoadedTable | None:
        """Registers an existing metadata file as a table, with its files in place.

        None if table names determine locations, so that the caller has to copy. Raises AlreadyExistsError, and
        AnalysisError LOCATION_IN_USE if the catalog has that table under another name.
        """

    def undrop_table(self, identifier: TableIdentifier) -> None:
        """Restores the table that was last dropped under this name without PURGE.

        Raises NotFoundError DROPPED_TABLE_NOT_FOUND, AlreadyExistsError if the name is taken, and UnsupportedError if
        the catalog keeps no dropped tables.
        """

    def dropped_tables(self, namespace: Namespace) -> tuple[DroppedTable, ...]:
        """The namespace's tables that can be restored, latest drop first."""

    def rename_table(self, identifier: TableIdentifier, to: TableIdentifier) -> None:
        """Renames the table, into any existing namespace; its location stays.

        Raises AlreadyExistsError if the name is taken, UnsupportedError if table names determine locations, and
        TABLE_HAS_CLONES as `drop_table`: clones know the table by its name.
        """

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        """Raises AlreadyExistsError if it exists, UnsupportedError for properties that the catalog cannot store."""

    def namespace_exists(self, namespace: Namespace) -> bool:
        """Whether the namespace exists; a table of that name is none."""

    def list_namespaces(self, parent: Namespace = ()) -> tuple[Namespace, ...]:
        """The namespaces directly in `parent`, sorted; an empty `parent` is the root."""

    def load_namespace(self, namespace: Namespace) -> Mapping[str, str]:
        """The namespace's properties, including `location` if it has one."""

    def set_namespace_properties(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        """Raises UnsupportedError if the catalog stores no properties."""

    def remove_namespace_properties(self, namespace: Namespace, names: frozenset[str]) -> None:
        """Raises UnsupportedError if the catalog stores no properties."""

    def drop_namespace(self, namespace: Namespace, cascade: bool) -> bool:
        """False if it does not exist. Raises AnalysisError SCHEMA_NOT_EMPTY for one with contents, unless `cascade`.

        With `cascade` clones are dropped before the tables that they read; TABLE_HAS_CLONES for a clone that stays is
        raised before any table is dropped.
        """


def all_views(catalog: Catalog, namespace: Namespace = ()) -> Iterator[TableIdentifier]:
    """All views of a catalog, or those in a namespace and in the namespaces below it."""
    if namespace:
        yield from catalog.views.list_views(namespace)
    for child in catalog.list_namespaces(namespace):
        yield from all_views(catalog, child)


def all_tables(catalog: Catalog, namespace: Namespace = ()) -> Iterator[TableIdentifier]:
    """All tables of a catalog, or those in a namespace and in the namespaces below it."""
    if namespace:
        yield from catalog.list_tables(namespace)
    for child in catalog.list_namespaces(namespace):
        yield from all_tables(catalog, child)
