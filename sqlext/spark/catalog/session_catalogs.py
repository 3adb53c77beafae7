"""The catalogs of a Spark application by name, and tables loaded from them at one version of their metadata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.catalog_settings import GroupCommit
from sqlext.catalog.identifier import TableIdentifier, quoted
from sqlext.catalog.open_transaction import OpenTransaction
from sqlext.errors import AnalysisError, NotFoundError
from sqlext.spark.catalog.open_catalogs import OpenCatalogs
from sqlext.spark.catalog.remembered_metadata import RememberedMetadata
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spark.catalog.time_travel import NamedPlace, readings
from sqlext.spec.metadata.reference import MAIN_BRANCH
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.stored_changelog import changelog_table
from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata
from sqlext.spec.schema import Schema
from sqlext.storage.file_io import FileIO


@dataclass(frozen=True, slots=True)
class TableVersion:
    """A table at one metadata file and one snapshot (None while the table is empty)."""

    handle: TableHandle
    metadata: TableMetadata
    snapshot: Snapshot | None
    io: FileIO

    @property
    def schema(self) -> Schema:
        """The snapshot's own schema when the handle pins a snapshot and does not say otherwise, else the table's."""
        if self.handle.snapshot_id is None or self.handle.as_current:
            return self.metadata.schema()
        if self.snapshot is None or self.snapshot.schema_id is None:
            return self.metadata.schema()
        return self.metadata.schemas_by_id()[self.snapshot.schema_id]


@dataclass(frozen=True, slots=True)
class Catalogs:
    """The catalogs of an application as a session sees them: in a transaction, if it has one.

    What is opened and remembered is the application's. `path_io` reads tables that are named by their path.
    """

    opened: OpenCatalogs
    remembered: RememberedMetadata
    path_io: FileIO
    transaction: OpenTransaction | None = None

    def within(self, transaction: OpenTransaction) -> Catalogs:
        """These catalogs as the transaction sees them."""
        return replace(self, transaction=transaction)

    def group_commit(self, name: str) -> GroupCommit | None:
        """Whose commits may land together in the catalog; in a transaction nobody else's."""
        return self.opened.of(name).group_commit if self.transaction is None else None

    def catalog(self, name: str) -> Catalog:
        """The catalog of that name; NotFoundError when Spark has not initialised one."""
        catalog = self.opened.of(name).catalog
        return catalog if self.transaction is None else self.transaction.catalog(catalog)

    def load(self, parts: Sequence[str]) -> LoadedTable:
        """The newest version of `catalog.namespace….table`; NotFoundError under its full name.

        AnalysisError EXPECT_TABLE_NOT_PART for a metadata table or a place of a table.
        """
        try:
            return self._load(parts)
        except NotFoundError:
            for place in readings(tuple(parts)):
                if place.parts != tuple(parts) and self._is_there(place.parts):
                    name, table = quoted(*parts), quoted(*place.parts)
                    raise AnalysisError("EXPECT_TABLE_NOT_PART", name=name, part=place.part, table=table) from None
            raise

    def _is_there(self, parts: Sequence[str]) -> bool:
        try:
            return bool(self._load(parts))
        except NotFoundError:
            return False

    def _load(self, parts: Sequence[str]) -> LoadedTable:
        catalog = self.catalog(parts[0])
        try:
            table = catalog.load_table(TableIdentifier(tuple(parts[1:-1]), parts[-1]))
        except NotFoundError as missing:
            if missing.condition != "TABLE_OR_VIEW_NOT_FOUND":
                raise
            raise NotFoundError("TABLE_OR_VIEW_NOT_FOUND", name=".".join(parts)) from None
        self.remembered.remember_table(parts, table)
        return table

    def begin_reading(self, tables: Sequence[Sequence[str]]) -> None:
        """Has an open transaction read these tables, by the parts of their names: at once that takes fewer requests
        than one by one. Errors as `Catalog.load_table`."""
        if self.transaction is None:
            return
        by_catalog: dict[str, list[TableIdentifier]] = {}
        for parts in tables:
            by_catalog.setdefault(parts[0], []).append(TableIdentifier(tuple(parts[1:-1]), parts[-1]))
        for name, identifiers in by_catalog.items():
            self.transaction.catalog(self.opened.of(name).catalog).load_tables(identifiers)

    def locate(self, parts: tuple[str, ...]) -> tuple[NamedPlace, LoadedTable]:
        """The table that a name means, and the place of it that the name goes on with; NotFoundError as `load`."""
        missing: NotFoundError | None = None
        for place in readings(parts):
            try:
                return place, self._load(place.parts)
            except NotFoundError as error:
                missing = missing or error
        assert missing is not None
        raise missing

    def version(self, handle: TableHandle) -> TableVersion:
        """What `handle` names; reads the metadata file when it is no longer remembered."""
        io = self.path_io if handle.catalog is None else self.catalog(handle.catalog).io
        metadata = self.remembered.at(handle.metadata_location)
        if metadata is None or metadata.table_uuid != handle.table_uuid:
            metadata = decode_table_metadata(io.read(handle.metadata_location), handle.metadata_location)
            self.remembered.remember(handle.metadata_location, metadata)
        if metadata.table_uuid != handle.table_uuid:
            raise NotFoundError("TABLE_OR_VIEW_NOT_FOUND", name=handle.full_name)
        snapshot = _snapshot(metadata, handle)
        if handle.changelog:
            metadata = changelog_table(metadata, snapshot)
            snapshot = metadata.current_snapshot()
        return TableVersion(handle, metadata, snapshot, io)


def handle_of(catalog: str | None, table: LoadedTable) -> TableHandle:
    """The handle of a table just loaded, at its current snapshot; no catalog for one loaded by its path."""
    identifier, metadata = table.identifier, table.metadata
    location, contents = table.metadata_location, _contents(metadata)
    return TableHandle(catalog, identifier.namespace, identifier.name, location, metadata.table_uuid, contents)


def _contents(metadata: TableMetadata) -> str:
    snapshot = metadata.current_snapshot()
    ids = (metadata.current_schema_id, metadata.default_spec_id, metadata.last_sequence_number)
    place = () if snapshot is None else (snapshot.snapshot_id, snapshot.manifest_list)
    return " ".join(map(str, (metadata.last_updated_ms, *ids, *place)))


def _snapshot(metadata: TableMetadata, handle: TableHandle) -> Snapshot | None:
    if handle.snapshot_id is not None:
        return metadata.snapshot(handle.snapshot_id)
    return metadata.head(MAIN_BRANCH if handle.branch is None else handle.branch)
