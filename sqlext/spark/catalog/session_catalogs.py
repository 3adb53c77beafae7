"""The catalogs of a Spark application by name, and tables loaded from them at one version of their metadata."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from threading import Lock
from typing import TypeVar
from weakref import WeakValueDictionary

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.catalog_settings import GroupCommit, group_commit
from sqlext.catalog.identifier import TableIdentifier, quoted
from sqlext.catalog.open_transaction import OpenTransaction
from sqlext.errors import AnalysisError, NotFoundError
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spark.catalog.time_travel import NamedPlace, readings
from sqlext.spec.metadata.reference import MAIN_BRANCH
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.stored_changelog import changelog_table
from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata
from sqlext.spec.schema import Schema
from sqlext.storage.file_io import FileIO

_REMEMBERED_VERSIONS = 256
_TABLE_DEFAULT = "table-default."

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


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


class HeldMetadata:
    """Metadata that no file has, for as long as somebody has this object."""

    def __init__(self, metadata: TableMetadata) -> None:
        self.metadata = metadata


class Catalogs:
    """Catalogs by name. `open_catalog` makes one from Spark's `spark.sql.catalog.<name>.*` options."""

    def __init__(self, open_catalog: Callable[[str, Mapping[str, str]], Catalog], path_io: FileIO) -> None:
        self._open = open_catalog
        self._path_io = path_io
        self._catalogs: dict[str, Catalog] = {}
        self._options: dict[str, Mapping[str, str]] = {}
        self._opening = Lock()
        self._defaults: dict[str, Mapping[str, str]] = {}
        self._group_commits: dict[str, GroupCommit | None] = {}
        self._versions: OrderedDict[str, TableMetadata] = OrderedDict()
        # By the parts of the name and the metadata file's name.
        self._loaded: OrderedDict[tuple[str, ...], LoadedTable] = OrderedDict()
        # Metadata of open transactions, which no file has.
        self._pending: dict[str, TableMetadata] = {}
        # Metadata of statements, which no file has either.
        self._held: WeakValueDictionary[str, HeldMetadata] = WeakValueDictionary()
        self._lock = Lock()
        self._transaction: OpenTransaction | None = None

    def within(self, transaction: OpenTransaction) -> Catalogs:
        """These catalogs as the transaction sees them."""
        seen = copy(self)
        seen._transaction = transaction
        return seen

    def initialize(self, name: str, options: Mapping[str, str]) -> None:
        """Opens the catalog, once for all sessions. `AnalysisError` CATALOG_IS_OPEN for one that has it with other
        options."""
        with self._opening:
            if name in self._catalogs:
                self._require_options(name, options, all_of_them=True)
            else:
                self._initialize(name, options)

    def require_settings(self, catalogs: Mapping[str, Mapping[str, str]]) -> None:
        """`AnalysisError` CATALOG_IS_OPEN where one of the options, by catalog, is not what an open catalog has."""
        for name, options in catalogs.items():
            if name in self._catalogs:
                self._require_options(name, options, all_of_them=False)

    def _require_options(self, name: str, options: Mapping[str, str], *, all_of_them: bool) -> None:
        known = self._options[name]
        for option in sorted({*options, *(known if all_of_them else ())}):
            if known.get(option) != options.get(option):
                raise AnalysisError("CATALOG_IS_OPEN", name=name, option=option)

    def _initialize(self, name: str, options: Mapping[str, str]) -> None:
        opened = self._open(name, options)
        self._options[name] = dict(options)
        self._catalogs[name] = opened
        self._group_commits[name] = group_commit(name, options)
        self._defaults[name] = {
            key.removeprefix(_TABLE_DEFAULT): value for key, value in options.items() if key.startswith(_TABLE_DEFAULT)
        }

    def table_defaults(self, name: str) -> Mapping[str, str]:
        """Properties of a new table that sets none of these itself: the catalog's options under `table-default.`."""
        return self._defaults.get(name, {})

    def group_commit(self, name: str) -> GroupCommit | None:
        """Whose commits may land together in the catalog; in a transaction nobody else's."""
        return self._group_commits.get(name) if self._transaction is None else None

    def catalog(self, name: str) -> Catalog:
        """The catalog of that name; NotFoundError when Spark has not initialised one."""
        try:
            catalog = self._catalogs[name]
        except KeyError:
            raise NotFoundError("CATALOG_NOT_FOUND", name=name) from None
        return catalog if self._transaction is None else self._transaction.catalog(catalog)

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
        self.remember(table.metadata_location, table.metadata)
        with self._lock:
            _keep(self._loaded, (*parts, _file_name(table.metadata_location)), table)
        return table

    def begin_reading(self, tables: Sequence[Sequence[str]]) -> None:
        """Has an open transaction read these tables, by the parts of their names: at once that takes fewer requests
        than one by one. Errors as `Catalog.load_table`."""
        if self._transaction is None:
            return
        by_catalog: dict[str, list[TableIdentifier]] = {}
        for parts in tables:
            by_catalog.setdefault(parts[0], []).append(TableIdentifier(tuple(parts[1:-1]), parts[-1]))
        for name, identifiers in by_catalog.items():
            self._transaction.catalog(self._catalogs[name]).load_tables(identifiers)

    def loaded(self, parts: Sequence[str], metadata_file: str) -> LoadedTable | None:
        """The table as it was loaded last at the metadata file of that name, without a question to its catalog."""
        with self._lock:
            return self._loaded.get((*parts, metadata_file))

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
        io = self._path_io if handle.catalog is None else self.catalog(handle.catalog).io
        metadata = self._remembered(handle.metadata_location)
        if metadata is None or metadata.table_uuid != handle.table_uuid:
            metadata = decode_table_metadata(io.read(handle.metadata_location), handle.metadata_location)
            self.remember(handle.metadata_location, metadata)
        if metadata.table_uuid != handle.table_uuid:
            raise NotFoundError("TABLE_OR_VIEW_NOT_FOUND", name=handle.full_name)
        snapshot = _snapshot(metadata, handle)
        if handle.changelog:
            metadata = changelog_table(metadata, snapshot)
            snapshot = metadata.current_snapshot()
        return TableVersion(handle, metadata, snapshot, io)

    def remember(self, location: str, metadata: TableMetadata) -> None:
        """Keeps decoded metadata by its location; a metadata file never changes while its table is there."""
        with self._lock:
            _keep(self._versions, location, metadata)

    def hold(self, location: str, metadata: TableMetadata) -> HeldMetadata:
        """Has the metadata found by its location, at which there is no file, while the caller has what this returns."""
        held = HeldMetadata(metadata)
        with self._lock:
            self._held[location] = held
        return held

    def keep_pending(self, location: str, metadata: TableMetadata) -> None:
        """Keeps metadata that no file has until its transaction is over."""
        with self._lock:
            self._pending[location] = metadata

    def release_pending(self, transaction_id: str) -> None:
        """Of a transaction that is over; queries that were made in it may still ask for some of its metadata."""
        with self._lock:
            over = [location for location in self._pending if transaction_id in location]
        for location in over:
            self.remember(location, self._pending.pop(location))

    def _remembered(self, location: str) -> TableMetadata | None:
        with self._lock:
            held = self._held.get(location)
            return held.metadata if held is not None else self._pending.get(location) or self._versions.get(location)


def _keep(kept: OrderedDict[_Key, _Value], key: _Key, value: _Value) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > _REMEMBERED_VERSIONS:
        kept.popitem(last=False)


def _file_name(location: str) -> str:
    return location.rpartition("/")[2]


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
