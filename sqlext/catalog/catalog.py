"""What every catalog offers: names, and one compare-and-swap of a table's metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlext.catalog.dropped_table import DroppedTable
from sqlext.catalog.identifier import Namespace, TableIdentifier
from sqlext.catalog.view_catalog import ViewCatalog
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """A table at one version: its metadata and the file that holds it."""

    identifier: TableIdentifier
    metadata: TableMetadata
    metadata_location: str


@dataclass(frozen=True, slots=True)
class TableCommit:
    """A table's part of a commit of several: as the arguments of `Catalog.commit`."""

    identifier: TableIdentifier
    base: LoadedTable | None
    updated: TableMetadata


class Catalog(Protocol):
    """Tables by name.

    Names that cannot be are an `AnalysisError` INVALID_NAME, tables and namespaces that are not there a
    `NotFoundError`, in every method that takes one.
    """

    @property
    def name(self) -> str:
        """The catalog's name in SQL."""

    @property
    def io(self) -> FileIO:
        """Reads and writes the files of its tables."""

    @property
    def views(self) -> ViewCatalog:
        """Its views, whose names are not those of tables."""

    def load_table(self, identifier: TableIdentifier) -> LoadedTable:
        """The current version. `CorruptionError` or `NotFoundError` FILE_NOT_FOUND for a damaged table.

        `AnalysisError` EXPECT_TABLE_NOT_VIEW for the name of a view, in every method for tables.
        """

    def current_metadata_location(self, identifier: TableIdentifier) -> str:
        """Where the current metadata is, without reading it."""

    def is_current(self, table: LoadedTable) -> bool:
        """Whether the table that was loaded is still what `load_table` would give; it may be gone. The catalog is
        asked, no cache is."""

    def load_version(self, current: LoadedTable, location: str) -> LoadedTable:
        """A former version of a table, by a metadata file of its log. Errors as `load_table`, and of the storage."""

    @property
    def keeps_time_stamps(self) -> bool:
        """Whether a version has the time stamp (`last-updated-ms`) that its commit asked for."""

    def table_exists(self, identifier: TableIdentifier) -> bool:
        """Whether the name is taken, by a table that is sound or damaged, or by a view."""

    def commit(self, identifier: TableIdentifier, base: LoadedTable | None, updated: TableMetadata) -> LoadedTable:
        """Makes `updated` the table's metadata if `base` still is; without a base, makes the table.

        `CommitConflict`: `base` is no longer current. `AlreadyExistsError`: the table to make is there.
        `CommitStateUnknown`: no answer, or one that does not tell, so either may have happened. Any other error:
        nothing was sent, or nothing was committed.
        """

    def commit_tables(self, changes: Sequence[TableCommit], unchanged: Sequence[LoadedTable] = ()) -> None:
        """Makes all of the changes, or none; they are of different tables. Errors as `commit`, of any of them.

        Tables that are to be `unchanged` are others. They are still at these versions in one moment after the call has
        begun, in which none of the changes has been seen by anyone; or it is a `CommitConflict`.
        """

    def may_still_land(self, change: TableCommit, current: LoadedTable) -> bool:
        """Whether a request for the change that is still on its way could land on a newer version `current` of the same
        table, which does not show it."""

    def require_joint(self, changes: Sequence[TableCommit]) -> None:
        """`UnsupportedError` where these cannot be one commit."""

    def default_table_location(self, identifier: TableIdentifier) -> str:
        """The folder of a table that is made without a location of its own."""

    def discard_creation(self, identifier: TableIdentifier) -> None:
        """Removes empty folders that a creation which was given up has left; touches no table and no file."""

    def list_tables(self, namespace: Namespace) -> tuple[TableIdentifier, ...]:
        """The tables directly in the namespace, sorted."""

    def drop_table(self, identifier: TableIdentifier, purge: bool) -> bool:
        """Removes the table from the catalog, and with `purge` every file of it; False if there is none."""

    def adopt_table(self, identifier: TableIdentifier, metadata_location: str) -> LoadedTable | None:
        """Makes a table of a metadata file that is there, with its files where they are, as another catalog's table.

        None where a table's name decides its place, and the caller has to make a copy. `AlreadyExistsError`;
        `AnalysisError` LOCATION_IN_USE where the catalog has that table under another name.
        """

    def undrop_table(self, identifier: TableIdentifier) -> None:
        """Brings back the table that was dropped under that name last, without PURGE, as it was.

        `NotFoundError` DROPPED_TABLE_NOT_FOUND; `AlreadyExistsError` when the name is taken; `UnsupportedError` where
        the catalog keeps nothing of tables that are dropped.
        """

    def dropped_tables(self, namespace: Namespace) -> tuple[DroppedTable, ...]:
        """The tables of the namespace that can be brought back, the newest drop first."""

    def rename_table(self, identifier: TableIdentifier, to: TableIdentifier) -> None:
        """Gives the table another name, in any namespace that is there; it stays where it is.

        `AlreadyExistsError` when the name is taken, `UnsupportedError` where a table's folder is its name.
        """

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        """`AlreadyExistsError` when it is there; `UnsupportedError` for properties the catalog cannot keep."""

    def namespace_exists(self, namespace: Namespace) -> bool:
        """Whether it is there; a table of that name is no namespace."""

    def list_namespaces(self, parent: Namespace = ()) -> tuple[Namespace, ...]:
        """The namespaces directly in `parent`, sorted; the empty parent is the catalog itself."""

    def load_namespace(self, namespace: Namespace) -> Mapping[str, str]:
        """Its properties, `location` among them where it has one."""

    def set_namespace_properties(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        """`UnsupportedError` where the catalog keeps none."""

    def remove_namespace_properties(self, namespace: Namespace, names: frozenset[str]) -> None:
        """`UnsupportedError` where the catalog keeps none."""

    def drop_namespace(self, namespace: Namespace, cascade: bool) -> bool:
        """False if it is not there; `AnalysisError` SCHEMA_NOT_EMPTY when it holds anything, unless `cascade`."""
