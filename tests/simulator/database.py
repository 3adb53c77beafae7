"""A catalog's database among the processes of a simulation: a real SQLite file, and faults at its connections.

No process gives its turn away within a transaction, as the others would wait for its lock in the same thread.
"""

from __future__ import annotations

import os
import random
import sqlite3
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simulator.faults import Killed
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.sql.database import DuplicateKey, NoAnswer, Row, SqliteDatabase, Step
from sqlext.catalog.sql.records import CatalogRecords
from sqlext.catalog.sql.sql_catalog import SqlCatalog
from sqlext.errors import CommitConflict, StorageError
from sqlext.storage.file_io import FolderIO

if TYPE_CHECKING:
    from simulator.world import Process

CHANGE = "FP15-20,23 change of the database"
QUERY = "FP27-28 query of the database"
POINTS = (CHANGE, QUERY)
OF_CHANGES = ("killed before", "killed after", "refused", "busy", "reply lost", "no reply", "delayed", "hung")
OF_QUERIES = ("killed before", "refused", "hung")

_IN_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
_POINTERS = "SELECT table_namespace, table_name, metadata_location FROM iceberg_tables"

Pointers = dict[TableIdentifier, str]


class SharedDatabase:
    """The file, and who is told when a pointer has moved."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="simulator-", dir=_IN_MEMORY)
        self.path = Path(self._folder.name, "catalog.db")
        self.moved: Callable[[TableIdentifier, str | None, str | None, Any], None] = lambda *_: None
        self._reader = SqliteDatabase("observer", str(self.path))

    def close(self) -> None:
        """Deletes the file."""
        self._folder.cleanup()

    def catalog(self, name: str, warehouse: str, io: FolderIO) -> SqlCatalog:
        """A catalog that nothing befalls."""
        return SqlCatalog(name, warehouse, io, self._records(self._reader), each=map)

    def catalog_of(self, process: Process, warehouse: str) -> SqlCatalog:
        database = FaultyDatabase(self, process)
        rng = process.rng
        return SqlCatalog(
            "lake",
            warehouse,
            process.io,
            self._records(database),
            new_uuid=lambda: _uuid(rng),
            clock=process.clock,
            # A process is one thread, whose every I/O call is a step.
            each=map,
        )

    def pointers(self) -> Pointers:
        return {TableIdentifier((space,), name): location for space, name, location in self._reader.rows(_POINTERS)}

    def tell(self, before: Pointers, by: Any) -> None:
        """Of the pointers that have moved since then."""
        after = self.pointers()
        for identifier in sorted(before.keys() | after.keys(), key=str):
            if before.get(identifier) != after.get(identifier):
                self.moved(identifier, before.get(identifier), after.get(identifier), by)

    def _records(self, database: SqliteDatabase) -> CatalogRecords:
        return CatalogRecords(database, "lake", create=True, upgrade=True)


class FaultyDatabase(SqliteDatabase):
    """The connections of one process."""

    def __init__(self, shared: SharedDatabase, process: Process) -> None:
        super().__init__("lake", str(shared.path))
        self._shared = shared
        self._process = process
        self._at_commit: str | None = None

    def rows(self, query: str, *values: object) -> list[Row]:
        self._step(QUERY)
        return super().rows(query, *values)

    def change(self, *steps: Step, required: int = 0) -> list[int]:
        by = self._process, self._process.statement
        what = self._step(CHANGE)
        if what == "delayed":
            self._process.world.later(lambda: self._made_late(steps, required, by), self._process)
            raise NoAnswer("simulated: the server is slow")
        self._at_commit = what if what in ("reply lost", "no reply") else None
        if not self._process.world.is_running:
            # The tables themselves are made before anybody looks.
            return self._made(steps, required, by) if self.columns("iceberg_tables") else self._changed(steps, required)
        counts = self._made(steps, required, by)
        if what == "killed after":
            self._process.killed = True
            raise Killed
        return counts

    def columns(self, table: str) -> frozenset[str]:
        return frozenset(row[1] for row in SqliteDatabase.rows(self, f"PRAGMA table_info({table})"))

    def _changed(self, steps: tuple[Step, ...], required: int) -> list[int]:
        return SqliteDatabase.change(self, *steps, required=required)

    def _made(self, steps: tuple[Step, ...], required: int, by: Any) -> list[int]:
        before = self._shared.pointers()
        try:
            return self._changed(steps, required)
        finally:
            self._shared.tell(before, by)

    def _made_late(self, steps: tuple[Step, ...], required: int, by: Any) -> None:
        self._at_commit = None
        try:
            self._made(steps, required, by)
        except (DuplicateKey, StorageError, CommitConflict) as error:
            raise FileExistsError(str(error)) from error

    def _step(self, point: str) -> str | None:
        what = self._process.befallen(point)
        if what == "refused":
            raise StorageError("CATALOG_FAILURE", name="lake", reason="a simulated refusal")
        if what == "busy":
            raise CommitConflict("COMMIT_CONFLICT", name="lake", reason="a simulated lock")
        return what

    def _connect(self) -> Any:
        connection = super()._connect()
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA journal_mode = MEMORY")
        return _Connection(connection, self)

    def befalls_commit(self) -> str | None:
        what, self._at_commit = self._at_commit, None
        return what


class _Connection:
    """Loses the answer to a COMMIT, with or without the COMMIT."""

    def __init__(self, connection: sqlite3.Connection, database: FaultyDatabase) -> None:
        self._connection = connection
        self._database = database

    def execute(self, statement: str, values: Any = ()) -> sqlite3.Cursor:
        what = self._database.befalls_commit() if statement == "COMMIT" else None
        if what == "no reply":
            self._connection.execute("ROLLBACK")
        elif what == "reply lost":
            self._connection.execute(statement)
        if what is not None:
            raise sqlite3.OperationalError(f"simulated: disk I/O error ({what})")
        return self._connection.execute(statement, values)

    def close(self) -> None:
        self._connection.close()


def _uuid(rng: random.Random) -> uuid.UUID:
    return uuid.UUID(int=rng.getrandbits(128), version=4)
