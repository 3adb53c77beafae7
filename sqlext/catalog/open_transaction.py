"""A transaction of several statements, which commits its changes of one catalog's tables atomically.

A transaction reads all tables as of one point in time, with its own changes. The first committer wins: a transaction
fails if another commit has changed a table that it changes or, with serializable isolation, reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from sqlext.catalog.catalog import Catalog, LoadedTable
from sqlext.catalog.pending_catalog import PendingCatalog, PendingTables, SharedKeys, no_keys
from sqlext.catalog.point_in_time import PointInTime
from sqlext.errors import (
    AnalysisError,
    CommitConflict,
    CommitStateUnknown,
    Contender,
    SqlextError,
    UnsupportedError,
    ValidationConflict,
)
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.storage.clock import system_clock

_State = Mapping[str, PendingTables]


class OpenTransaction:
    """From BEGIN to COMMIT or ROLLBACK. `remember` is called with the name and content of metadata that no file has."""

    def __init__(
        self,
        transaction_id: str,
        remember: Callable[[str, TableMetadata], None],
        *,
        serializable: bool = False,
        checks: Callable[[], Iterable[int]] = lambda: range(1),
        clock: Callable[[], int] = system_clock,
        over: OpenTransaction | None = None,
    ) -> None:
        """`checks` numbers the status checks of an unanswered commit, and waits before each but the first. `clock`
        gives milliseconds since 1970.

        One `over` another transaction reads its changes too, and can only be rolled back.
        """
        self._id = transaction_id
        self._serializable = serializable
        self._over = over
        self._remember = remember
        self._checks = checks
        self._point = PointInTime(clock)
        self._catalogs: dict[str, PendingCatalog] = {}
        self._savepoints: list[tuple[str, _State]] = []

    def catalog(self, catalog: Catalog) -> PendingCatalog:
        """The catalog as the transaction sees it."""
        if catalog.name not in self._catalogs:
            base = catalog if self._over is None else self._over.catalog(catalog)
            pending = PendingCatalog(base, self._id, self._remember, self._require_sole, self._point)
            self._catalogs[catalog.name] = pending
        return self._catalogs[catalog.name]

    def commit(self, again: Callable[[], LoadedTable] | None = None, shared_keys: SharedKeys = no_keys) -> None:
        """Commits all changes. Raises ValidationConflict TRANSACTION_CONFLICT if another commit came first, with the
        `shared_keys` of both, and UnsupportedError SERIALIZABLE_SPANS_CATALOGS.

        If another came first and the transaction only appended rows to one table, `again` may commit the same data
        files to its newest version; what it raises is raised.

        After a SqlextError other than CommitStateUnknown, all files of the transaction have been deleted.
        CommitStateUnknown is raised for any other exception too, such as an interrupt, since the changes may have been
        committed.
        """
        try:
            self._require_one_catalog()
            for catalog in self._catalogs.values():
                catalog.commit_all(self._checks(), serializable=self._serializable)
        except CommitStateUnknown:
            raise
        except CommitConflict as lost:
            if again is not None:
                self._commit_again(again)
                return
            name, reason = lost.parameters["name"], lost.parameters["reason"]
            contender = self._contender(shared_keys)
            self.roll_back()
            raise ValidationConflict("TRANSACTION_CONFLICT", name=name, reason=reason, contender=contender) from lost
        except SqlextError:
            self.roll_back()
            raise
        except (Exception, KeyboardInterrupt) as stopped:
            name, reason = ", ".join(self._catalogs), f"{type(stopped).__name__}: {stopped}".rstrip(": ")
            raise CommitStateUnknown("CHANGE_STATE_UNKNOWN", name=name, reason=reason) from stopped

    def _commit_again(self, again: Callable[[], LoadedTable]) -> None:
        try:
            landed = again()
        except CommitStateUnknown:
            raise
        except BaseException:
            self.roll_back()
            raise
        for catalog in self._catalogs.values():
            catalog.appended_as(landed)

    def roll_back(self) -> None:
        """Deletes the files of all changes."""
        self._go_back({})

    def changed_tables(self) -> list[tuple[str, ...]]:
        """The names, as parts, of all changed tables."""
        return [
            (name, *identifier.namespace, identifier.name)
            for name, catalog in self._catalogs.items()
            for identifier, _ in catalog.tables.changed()
        ]

    def set_savepoint(self, name: str) -> None:
        """Sets a savepoint; it hides an older one of the same name."""
        self._savepoints.append((name, {name: catalog.tables for name, catalog in self._catalogs.items()}))

    def roll_back_to(self, name: str) -> None:
        """Reverts changes since the savepoint, which stays. Raises AnalysisError SAVEPOINT_NOT_FOUND."""
        at = self._savepoint(name)
        self._go_back(self._savepoints[at][1])
        del self._savepoints[at + 1 :]

    def release(self, name: str) -> None:
        """Removes the savepoint and later ones, but no changes. Raises AnalysisError SAVEPOINT_NOT_FOUND."""
        del self._savepoints[self._savepoint(name) :]

    def _go_back(self, state: _State) -> None:
        for name, catalog in self._catalogs.items():
            catalog.go_back(state.get(name, PendingTables()))

    def _contender(self, shared_keys: SharedKeys) -> Contender | None:
        """What came before the commit of the changes; None if no table has a snapshot more, or it cannot be told."""
        catalogs = self._catalogs.values()
        found = (catalog.contender(shared_keys, serializable=self._serializable) for catalog in catalogs)
        try:
            return next((one for one in found if one is not None), None)
        except (SqlextError, OSError):
            return None

    def _savepoint(self, name: str) -> int:
        for number in reversed(range(len(self._savepoints))):
            if self._savepoints[number][0].lower() == name.lower():
                return number
        raise AnalysisError("SAVEPOINT_NOT_FOUND", savepoint=name)

    def _require_one_catalog(self) -> None:
        """Raises UnsupportedError if serializable reads are of another catalog, which may change during the commit."""
        changed = [name for name, catalog in self._catalogs.items() if catalog.tables.changed()]
        read = [name for name, catalog in self._catalogs.items() if catalog.tables.only_read()]
        others = [name for name in read if changed and name not in changed]
        if self._serializable and others:
            raise UnsupportedError("SERIALIZABLE_SPANS_CATALOGS", changed=changed[0], read=others[0])

    def _require_sole(self, changed: str) -> None:
        if self._over is not None:
            self._over._require_sole(changed)
        for name, catalog in self._catalogs.items():
            if name != changed and catalog.tables.changed():
                raise UnsupportedError("TRANSACTION_SPANS_CATALOGS", first=name, second=changed)
