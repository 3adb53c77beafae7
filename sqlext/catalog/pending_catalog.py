"""A catalog as seen by one transaction: each table as of the transaction's point in time, with the transaction's own
uncommitted changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from threading import RLock
from typing import TypeAlias

from sqlext.catalog.catalog import Catalog, LoadedTable, TableCommit
from sqlext.catalog.catalog_names import CatalogNames
from sqlext.catalog.discarded_files import discard_snapshots
from sqlext.catalog.dropped_table import DroppedTable
from sqlext.catalog.identifier import Namespace, TableIdentifier
from sqlext.catalog.point_in_time import PointInTime
from sqlext.catalog.sent_changes import settled
from sqlext.catalog.view_catalog import LoadedView, ViewCatalog
from sqlext.errors import (
    AlreadyExistsError,
    CommitConflict,
    CommitStateUnknown,
    Contender,
    SqlextError,
    UnsupportedError,
)
from sqlext.spec.metadata.contender import contender_of
from sqlext.spec.metadata.metadata_update import with_commit_time
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata, encode_table_metadata
from sqlext.spec.metadata.view_metadata import ViewMetadata
from sqlext.storage.file_io import FileIO
from sqlext.storage.location import metadata_location

_MOST_CONTENDERS = 10


@dataclass(frozen=True, slots=True)
class PendingTable:
    """A table in a transaction: `base` is the catalog's version, None for a table that the transaction creates."""

    base: LoadedTable | None
    current: LoadedTable

    @property
    def is_changed(self) -> bool:
        return self.base is not self.current


@dataclass(frozen=True, slots=True)
class PendingTables:
    """All tables that the transaction has read or changed, at one moment of it."""

    by_identifier: Mapping[TableIdentifier, PendingTable] = field(default_factory=dict)

    def changed(self) -> list[tuple[TableIdentifier, PendingTable]]:
        return [(identifier, table) for identifier, table in self.by_identifier.items() if table.is_changed]

    def only_read(self) -> list[LoadedTable]:
        return [table.current for table in self.by_identifier.values() if not table.is_changed]


SharedKeys: TypeAlias = Callable[[FileIO, PendingTable, TableMetadata, Snapshot], Sequence[str]]
"""The keys, as JSON, of rows that a transaction has changed in a table of which another commit has made a snapshot, in
a later version, and which this one has changed too; none if they are unknown."""


def no_keys(io: FileIO, table: PendingTable, now: TableMetadata, snapshot: Snapshot) -> Sequence[str]:
    """`SharedKeys` that knows none."""
    return ()


class PendingCatalog:
    """`Catalog` over another one. Uncommitted metadata has locations but no files: `remember` is called with each.

    Tables cannot be dropped or renamed, namespaces and views cannot be changed.
    """

    def __init__(
        self,
        catalog: Catalog,
        transaction_id: str,
        remember: Callable[[str, TableMetadata], None],
        require_sole: Callable[[str], None],
        point: PointInTime,
    ) -> None:
        """`require_sole` raises if the transaction has changed another catalog."""
        self._catalog = catalog
        self._transaction_id = transaction_id
        self._remember = remember
        self._require_sole = require_sole
        self._point = point
        self._tables = PendingTables()
        self._versions = 0
        self._placeholders: dict[TableIdentifier, str] = {}
        self._lock = RLock()

    @property
    def name(self) -> str:
        return self._catalog.name

    @property
    def io(self) -> FileIO:
        return self._catalog.io

    @property
    def views(self) -> ViewCatalog:
        return _FixedViews(self._catalog.views)

    # transaction

    @property
    def tables(self) -> PendingTables:
        """The state, for a savepoint."""
        return self._tables

    def go_back(self, tables: PendingTables) -> None:
        """Restores the state `tables`, and deletes the files of later snapshots.

        Tables first read since then keep the version that was read.
        """
        with self._lock:
            before, self._tables = self._tables, tables
            committed = [table.base.metadata for table in before.by_identifier.values() if table.base is not None]
            for identifier, table in before.by_identifier.items():
                kept = tables.by_identifier.get(identifier)
                if kept is None and table.base is not None:
                    kept = PendingTable(table.base, table.base)
                if table.is_changed:
                    left = None if kept is None else kept.current.metadata
                    discard_snapshots(self.io, table.current.metadata, left, committed)
                if kept is None:
                    self._drop_placeholder(identifier)
                    self._catalog.remove_empty_folders(identifier)
                else:
                    self._keep(identifier, kept)

    def commit_all(self, checks: Iterable[int], *, serializable: bool = False) -> None:
        """Commits all changes atomically; the order is that of the tables' last changes. Raises as
        `Catalog.commit_tables`; the state stays.

        With `serializable`, tables that were only read must be unchanged. `checks` numbers the status checks of a
        commit without a success, and waits before each but the first.
        """
        changes = self._stamped(self._changes())
        unchanged = self._tables.only_read() if serializable else []

        def send(changes: Sequence[TableCommit]) -> Sequence[LoadedTable]:
            self._catalog.commit_tables(changes, unchanged)
            return ()

        if changes or unchanged:
            try:
                send(changes)
            except (CommitConflict, AlreadyExistsError, CommitStateUnknown) as answer:
                if not changes:
                    raise
                if settled(self._catalog, changes, answer, send, checks) is None:
                    raise self._lost(changes, answer) from answer
        for identifier in list(self._placeholders):
            self._drop_placeholder(identifier)

    def appended_as(self, landed: LoadedTable) -> None:
        """Takes the catalog's version `landed` of a table, which has the data files that the transaction appended to
        it, in place of its own; the manifests of that one are deleted."""
        with self._lock:
            known = self._tables.by_identifier.get(landed.identifier)
            if known is not None and known.is_changed:
                committed = () if known.base is None else (known.base.metadata,)
                discard_snapshots(self.io, known.current.metadata, landed.metadata, committed, content=False)
                self._keep(landed.identifier, PendingTable(landed, landed))

    def contender(self, shared_keys: SharedKeys, *, serializable: bool) -> Contender | None:
        """The first snapshot, or the first that changed keys which the transaction changed too, that another commit has
        added to a changed table, with `serializable` also to one that was only read. Raises as `Catalog.load_table`."""
        found = list(islice(self._contenders(shared_keys, serializable=serializable), _MOST_CONTENDERS))
        return next((one for one in found if one.keys), found[0] if found else None)

    def _contenders(self, shared_keys: SharedKeys, *, serializable: bool) -> Iterator[Contender]:
        changed = [table for _, table in self._tables.changed() if table.base is not None]
        read = [PendingTable(table, table) for table in self._tables.only_read()] if serializable else []
        for table in (*changed, *read):
            assert table.base is not None
            head = table.base.metadata.current_snapshot()
            now = self._catalog.load_table(table.base.identifier).metadata
            for snapshot in now.snapshots_not_in(table.base.metadata):
                keys = shared_keys(self.io, table, now, snapshot) if table.is_changed else ()
                yield contender_of(snapshot, None if head is None else head.snapshot_id, keys=keys)

    def _changes(self) -> list[TableCommit]:
        return [
            TableCommit(identifier, table.base, table.current.metadata) for identifier, table in self._tables.changed()
        ]

    def _stamped(self, changes: Sequence[TableCommit]) -> Sequence[TableCommit]:
        """The changes with one commit time for all tables."""
        at_ms = self._point.commit_ms(change.updated for change in changes)
        return [replace(one, updated=_stamped(one, at_ms)) for one in changes]

    def _lost(self, changes: Sequence[TableCommit], answer: SqlextError) -> CommitConflict:
        refusal = answer.refusal if isinstance(answer, CommitStateUnknown) else answer
        if isinstance(refusal, CommitConflict):
            return refusal
        reason = "another writer has changed one of the tables"
        return CatalogNames(self.name).conflict(changes[0].identifier, reason)

    # tables

    def load_table(self, identifier: TableIdentifier) -> LoadedTable:
        """Raises as `PointInTime.load`."""
        return self.load_tables([identifier])[0]

    def load_tables(self, identifiers: Sequence[TableIdentifier]) -> Sequence[LoadedTable]:
        """As `load_table` for each, with fewer requests."""
        with self._lock:
            missing = [one for one in dict.fromkeys(identifiers) if one not in self._tables.by_identifier]
            if missing:
                loaded = zip(missing, self._point.load(self._catalog, missing), strict=True)
                new = {identifier: PendingTable(table, table) for identifier, table in loaded}
                self._tables = PendingTables({**self._tables.by_identifier, **new})
            return [self._tables.by_identifier[identifier].current for identifier in identifiers]

    def current_metadata_location(self, identifier: TableIdentifier) -> str:
        return self.load_table(identifier).metadata_location

    def is_current(self, table: LoadedTable) -> bool:
        return self.load_table(table.identifier) is table

    def load_version(self, current: LoadedTable, location: str) -> LoadedTable:
        return self._catalog.load_version(current, location)

    @property
    def keeps_timestamps(self) -> bool:
        return self._catalog.keeps_timestamps

    @property
    def compares_properties(self) -> bool:
        return self._catalog.compares_properties

    @property
    def keeps_files_of_clones(self) -> bool:
        return self._catalog.keeps_files_of_clones

    def table_exists(self, identifier: TableIdentifier) -> bool:
        return identifier in self._tables.by_identifier or self._catalog.table_exists(identifier)

    def commit(self, identifier: TableIdentifier, base: LoadedTable | None, updated: TableMetadata) -> LoadedTable:
        names = CatalogNames(self.name)
        self._require_sole(self.name)
        with self._lock:
            known = self._tables.by_identifier.get(identifier)
            if base is None:
                if self.table_exists(identifier):
                    raise names.taken(identifier)
            elif known is None or known.current.metadata_location != base.metadata_location:
                reason = "another statement of the transaction has changed the table"
                raise names.conflict(identifier, reason)
            self._require_joint(identifier, TableCommit(identifier, None if known is None else known.base, updated))
            self._versions += 1
            folder = metadata_location(updated) if base is None else base.metadata_location.rpartition("/")[0]
            location = f"{folder}/{self._transaction_id}-{self._versions}.metadata.json"
            current = LoadedTable(identifier, updated, location)
            if base is None:
                # Later statements write manifests beside it; a missing folder would mean a dropped table.
                self.io.create(location, encode_table_metadata(updated))
                self._placeholders[identifier] = location
            self._remember(current.metadata_location, updated)
            self._keep(identifier, PendingTable(None if known is None else known.base, current))
            return current

    def _require_joint(self, identifier: TableIdentifier, change: TableCommit) -> None:
        """Raises at the statement if its change cannot be committed with the others."""
        others = [one for one in self._changes() if one.identifier != identifier]
        self._catalog.require_joint([*others, change])

    def commit_tables(self, changes: object, unchanged: object = ()) -> None:
        raise _refused("a transaction within a transaction")

    def replace_damaged(self, identifier: TableIdentifier, damaged: str, metadata: TableMetadata) -> LoadedTable:
        raise _refused("Repairing a table")

    def may_still_land(self, change: TableCommit, current: LoadedTable) -> bool:
        """False: requests are sent only at the transaction's commit."""
        return False

    def require_joint(self, changes: Sequence[TableCommit]) -> None:
        self._catalog.require_joint(changes)

    def default_table_location(self, identifier: TableIdentifier) -> str:
        return self._catalog.default_table_location(identifier)

    def owned_by(self, table: LoadedTable) -> Callable[[str], bool]:
        raise _refused("Deleting files of a table")

    def remove_empty_folders(self, identifier: TableIdentifier) -> None:
        self._catalog.remove_empty_folders(identifier)

    def list_tables(self, namespace: Namespace) -> tuple[TableIdentifier, ...]:
        made = {one for one, table in self._tables.changed() if table.base is None and one.namespace == namespace}
        return tuple(sorted({*self._catalog.list_tables(namespace), *made}, key=lambda one: one.name))

    def drop_table(self, identifier: TableIdentifier, purge: bool) -> bool:
        raise _refused("DROP TABLE")

    def register_table(self, identifier: TableIdentifier, metadata_location: str) -> LoadedTable | None:
        raise _refused("CALL register_table")

    def undrop_table(self, identifier: TableIdentifier) -> None:
        raise _refused("UNDROP TABLE")

    def dropped_tables(self, namespace: Namespace) -> tuple[DroppedTable, ...]:
        return self._catalog.dropped_tables(namespace)

    def rename_table(self, identifier: TableIdentifier, to: TableIdentifier) -> None:
        raise _refused("ALTER TABLE … RENAME TO")

    # namespaces

    def create_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        raise _refused("CREATE NAMESPACE")

    def namespace_exists(self, namespace: Namespace) -> bool:
        return self._catalog.namespace_exists(namespace)

    def list_namespaces(self, parent: Namespace = ()) -> tuple[Namespace, ...]:
        return self._catalog.list_namespaces(parent)

    def load_namespace(self, namespace: Namespace) -> Mapping[str, str]:
        return self._catalog.load_namespace(namespace)

    def set_namespace_properties(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        raise _refused("ALTER NAMESPACE")

    def remove_namespace_properties(self, namespace: Namespace, names: frozenset[str]) -> None:
        raise _refused("ALTER NAMESPACE")

    def drop_namespace(self, namespace: Namespace, cascade: bool) -> bool:
        raise _refused("DROP NAMESPACE")

    def _drop_placeholder(self, identifier: TableIdentifier) -> None:
        with suppress(SqlextError, OSError):
            self.io.delete(self._placeholders.pop(identifier))

    def _keep(self, identifier: TableIdentifier, table: PendingTable) -> None:
        others = {one: kept for one, kept in self._tables.by_identifier.items() if one != identifier}
        self._tables = PendingTables({**others, identifier: table})


class _FixedViews:
    """Read-only `ViewCatalog`."""

    def __init__(self, views: ViewCatalog) -> None:
        self._views = views

    def load_view(self, identifier: TableIdentifier) -> LoadedView:
        return self._views.load_view(identifier)

    def view_exists(self, identifier: TableIdentifier) -> bool:
        return self._views.view_exists(identifier)

    def list_views(self, namespace: Namespace) -> tuple[TableIdentifier, ...]:
        return self._views.list_views(namespace)

    def default_view_location(self, identifier: TableIdentifier) -> str:
        return self._views.default_view_location(identifier)

    def commit_view(self, identifier: TableIdentifier, base: LoadedView | None, updated: ViewMetadata) -> LoadedView:
        raise _refused("CREATE VIEW" if base is None else "ALTER VIEW")

    def replace_damaged(self, identifier: TableIdentifier, damaged: str, metadata: ViewMetadata) -> LoadedView:
        raise _refused("Repairing a view")

    def drop_view(self, identifier: TableIdentifier) -> bool:
        raise _refused("DROP VIEW")


def _stamped(change: TableCommit, at_ms: int) -> TableMetadata:
    return with_commit_time(None if change.base is None else change.base.metadata, change.updated, at_ms)


def _refused(operation: str) -> UnsupportedError:
    return UnsupportedError("NOT_IN_TRANSACTION", operation=operation)
