"""The catalogs of a Spark session, and their tables at one version of the metadata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.catalog_settings import GroupCommit
from sqlext.catalog.identifier import TableIdentifier, quoted
from sqlext.catalog.open_transaction import OpenTransaction
from sqlext.catalog.session_catalog import in_session_catalog
from sqlext.errors import AnalysisError, NotFoundError
from sqlext.spark.catalog.open_catalogs import OpenCatalogs
from sqlext.spark.catalog.remembered_metadata import RememberedMetadata
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spark.catalog.time_travel import NamedPlace, readings
from sqlext.spec.field_path import path_text
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
        """The snapshot's schema if the handle names a snapshot, unless it is read `as_current`; else the current
        schema."""
        if self.handle.snapshot_id is None or self.handle.as_current:
            return self.metadata.schema()
        if self.snapshot is None or self.snapshot.schema_id is None:
            return self.metadata.schema()
        return self.metadata.schemas_by_id()[self.snapshot.schema_id]


@dataclass(frozen=True, slots=True)
class Catalogs:
    """The catalogs of a session, with the state of its open `transaction`, if any.

    `opened` and `remembered` are shared by all sessions of the application. `path_io` reads tables named by path.
    """

    opened: OpenCatalogs
    remembered: RememberedMetadata
    path_io: FileIO
    transaction: OpenTransaction | None = None

    def within(self, transaction: OpenTransaction) -> Catalogs:
        """The catalogs with the state of `transaction`."""
        return replace(self, transaction=transaction)

    def group_commit(self, name: str) -> GroupCommit | None:
        """The catalog's group commit setting; None if it has none, and in a transaction. Raises as `catalog`."""
        return self.opened.of(name).group_commit if self.transaction is None else None

    def catalog(self, name: str) -> Catalog:
        """The catalog `name`. Raises NotFoundError CATALOG_NOT_FOUND if Spark has not initialised it."""
        own, spark = self._own(name), self.opened.of(name).beside
        return own if spark is None else in_session_catalog(own, spark)

    def _own(self, name: str) -> Catalog:
        """The catalog without what it shares with Spark's session catalog."""
        catalog = self.opened.of(name).catalog
        return catalog if self.transaction is None else self.transaction.catalog(catalog)

    def holds(self, parts: tuple[str, ...]) -> bool:
        """Whether the full name is one of a table, or of a part of one, that is sqlext's; in Spark's session catalog
        others are Spark's. Raises as `catalog`."""
        own = self._own(parts[0])
        places = (place.parts for place in readings(parts))
        return any(own.table_exists(TableIdentifier(place[1:-1], place[-1])) for place in places)

    def load(self, parts: Sequence[str]) -> LoadedTable:
        """The newest version of `catalog.namespace….table`. Raises NotFoundError, and AnalysisError
        EXPECT_TABLE_NOT_PART for a metadata table, branch, tag or snapshot of a table."""
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
            raise NotFoundError("TABLE_OR_VIEW_NOT_FOUND", name=path_text(parts)) from None
        self.remembered.remember_table(parts, table)
        return table

    def begin_reading(self, tables: Sequence[Sequence[str]]) -> None:
        """Loads the tables in an open transaction, in fewer requests than one by one. Raises as
        `Catalog.load_table`."""
        if self.transaction is None:
            return
        by_catalog: dict[str, list[TableIdentifier]] = {}
        for parts in tables:
            by_catalog.setdefault(parts[0], []).append(TableIdentifier(tuple(parts[1:-1]), parts[-1]))
        for name, identifiers in by_catalog.items():
            self.transaction.catalog(self.opened.of(name).catalog).load_tables(identifiers)

    def locate(self, parts: tuple[str, ...]) -> tuple[NamedPlace, LoadedTable]:
        """The table that `parts` names, and the metadata table or version of it, if any. Raises NotFoundError."""
        missing: NotFoundError | None = None
        for place in readings(parts):
            try:
                return place, self._load(place.parts)
            except NotFoundError as error:
                missing = missing or error
        assert missing is not None
        raise missing

    def store(self, handle: TableHandle) -> FileIO:
        """What reads the files of a table."""
        return self.path_io if handle.catalog is None else self.catalog(handle.catalog).io

    def version(self, handle: TableHandle) -> TableVersion:
        """The version that `handle` names; reads its metadata file unless remembered. Raises NotFoundError for another
        table at the location, and as `FileIO.read` and `decode_table_metadata`."""
        io = self.store(handle)
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
    """The handle of a loaded table at its current snapshot. `catalog` is None for a table loaded by path."""
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
