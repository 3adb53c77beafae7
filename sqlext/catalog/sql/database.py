"""The database of a SQL catalog: parametrised statements, and changes in transactions.

There are two kinds: an SQLite file, shared by processes of one machine, and a PostgreSQL server. Parameters are `?`.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any, Protocol

from sqlext.errors import CommitConflict, CommitStateUnknown, StorageError, UnsupportedError

Row = tuple[Any, ...]
Step = tuple[str, Sequence[object]]
"""A statement and its parameters."""

# How long SQLite waits for other writing processes, before it reports a lock.
_SQLITE_WAIT_S = 30.0
_CONNECT_TIMEOUT_S = 10
# What libpq asks back, behind each address that refuses it.
_QUESTION = re.compile(r" Is the server running[^?]*\?")


class DuplicateKey(Exception):
    """A row with this key exists; nothing was changed."""


class NoAnswer(Exception):
    """The connection was lost during a change, which may have been made."""


class Database(Protocol):
    """Both methods raise StorageError CATALOG_UNREACHABLE, CATALOG_LOGIN_FAILED or CATALOG_FAILURE."""

    def rows(self, query: str, *values: object) -> list[Row]:
        """The rows of a query."""

    def change(self, *steps: Step, required: int = 0) -> list[int]:
        """Runs statements in one transaction and returns the number of rows that each changed.

        If one of the first `required` statements does not change exactly one row, nothing is changed, and its count is
        the last one. Raises DuplicateKey, NoAnswer, and CommitConflict if other writers keep the database busy for too
        long.
        """

    def columns(self, table: str) -> frozenset[str]:
        """Names of a table's columns; empty without such a table."""


@contextmanager
def answered(name: str) -> Iterator[None]:
    """Turns NoAnswer for a change of `name` into CommitStateUnknown."""
    try:
        yield
    except NoAnswer as error:
        raise CommitStateUnknown("CHANGE_STATE_UNKNOWN", name=name, reason=error) from error


class _Connections:
    """A pool of idle connections. Each connection is used by one thread at a time."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        self._idle: list[Any] = []
        self._lock = Lock()

    @contextmanager
    def one(self, is_alive: Callable[[Any], bool] = lambda connection: True) -> Iterator[Any]:
        """A connection that returns to the pool, unless an error occurs."""
        connection = self._rested(is_alive) or self._connect()
        try:
            yield connection
        except BaseException:
            with suppress(Exception):
                connection.close()
            raise
        with self._lock:
            self._idle.append(connection)

    def _rested(self, is_alive: Callable[[Any], bool]) -> Any:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if is_alive(connection):
                return connection
            with suppress(Exception):
                connection.close()


class SqliteDatabase:
    """An SQLite file, created if missing."""

    def __init__(self, catalog_name: str, path: str) -> None:
        self._name = catalog_name
        self._path = path
        self._connections = _Connections(self._connect)

    def rows(self, query: str, *values: object) -> list[Row]:
        with self._translated(), self._connections.one() as connection:
            return list(connection.execute(query, values).fetchall())

    def change(self, *steps: Step, required: int = 0) -> list[int]:
        with self._translated(), self._connections.one() as connection:
            # A transaction that begins with a read fails at once, without waiting, if another one has written.
            connection.execute("BEGIN IMMEDIATE")
            counts = _counted(connection, steps, required)
            if any(count != 1 for count in counts[:required]):
                connection.execute("ROLLBACK")
                return counts
            try:
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                if _is_busy(error):
                    raise
                raise NoAnswer(str(error)) from error
            return counts

    def columns(self, table: str) -> frozenset[str]:
        return frozenset(row[1] for row in self.rows(f"PRAGMA table_info({table})"))

    def _connect(self) -> sqlite3.Connection:
        try:
            return sqlite3.connect(self._path, _SQLITE_WAIT_S, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise _unreachable(self._name, f"{self._path}: {error}") from error

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.IntegrityError as error:
            raise DuplicateKey from error
        except sqlite3.Error as error:
            if _is_busy(error):
                reason = "other writers keep the catalog's database busy"
                raise CommitConflict("COMMIT_CONFLICT", name=self._name, reason=reason) from error
            raise StorageError("CATALOG_FAILURE", name=self._name, reason=error) from error


class PostgresDatabase:
    """A PostgreSQL server. Without a password, libpq takes it from the environment or `.pgpass`."""

    def __init__(self, catalog_name: str, address: str, settings: dict[str, str]) -> None:
        """`address` is a `postgresql://` URI without a password, `settings` are further libpq settings."""
        try:
            import psycopg
        except ImportError:
            raise UnsupportedError("PACKAGE_REQUIRED", feature="PostgreSQL", package="psycopg[binary]") from None
        self._driver = psycopg
        self._name = catalog_name
        self._address = address
        self._settings = settings
        self._connections = _Connections(self._connect)

    def rows(self, query: str, *values: object) -> list[Row]:
        with self._translated(), self._connections.one(_answers) as connection:
            return list(connection.execute(_marked(query), values).fetchall())

    def change(self, *steps: Step, required: int = 0) -> list[int]:
        with self._translated(), self._connections.one(_answers) as connection:
            connection.execute("BEGIN")
            counts = _counted(connection, [(_marked(statement), values) for statement, values in steps], required)
            if any(count != 1 for count in counts[:required]):
                connection.execute("ROLLBACK")
                return counts
            try:
                connection.execute("COMMIT")
            except self._driver.Error as error:
                if _is_refusal(error):
                    raise
                raise NoAnswer(self._reason(error)) from error
            return counts

    def columns(self, table: str) -> frozenset[str]:
        query = "SELECT column_name FROM information_schema.columns WHERE table_name = ?"
        return frozenset(row[0] for row in self.rows(f"{query} AND table_schema = ANY (current_schemas(false))", table))

    def _connect(self) -> Any:
        settings: dict[str, Any] = {"connect_timeout": _CONNECT_TIMEOUT_S, **self._settings}
        try:
            return self._driver.connect(self._address, autocommit=True, **settings)
        except self._driver.Error as error:
            reason = self._reason(error)
            if "authentication failed" in reason or "no password supplied" in reason or "role" in reason:
                raise StorageError("CATALOG_LOGIN_FAILED", name=self._name, reason=reason) from None
            raise _unreachable(self._name, reason) from None

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except self._driver.errors.UniqueViolation as error:
            raise DuplicateKey from error
        except self._driver.errors.OperationalError as error:
            if _is_refusal(error):
                raise StorageError("CATALOG_FAILURE", name=self._name, reason=self._reason(error)) from None
            # COMMIT was not sent: a transaction that loses its connection is rolled back.
            raise _unreachable(self._name, self._reason(error)) from None
        except self._driver.Error as error:
            raise StorageError("CATALOG_FAILURE", name=self._name, reason=self._reason(error)) from None

    def _reason(self, error: Exception) -> str:
        """The driver's message in one line, without the password."""
        text = _QUESTION.sub("", " ".join(str(error).split())) or type(error).__name__
        password = self._settings.get("password")
        return text.replace(password, "***") if password else text


def _counted(connection: Any, steps: Iterable[Step], required: int) -> list[int]:
    """The numbers of rows changed, up to the first required statement that does not change exactly one."""
    counts: list[int] = []
    for statement, values in steps:
        counts.append(connection.execute(statement, values).rowcount)
        if len(counts) <= required and counts[-1] != 1:
            break
    return counts


def _answers(connection: Any) -> bool:
    """Whether an idle connection still works: the server may have been restarted."""
    if connection.closed:
        return False
    try:
        connection.execute("SELECT 1")
    except Exception:
        return False
    return True


def _is_refusal(error: Any) -> bool:
    """Whether the server refused, so that nothing was done; SQLSTATE classes 08 and 57 are lost connections."""
    state = error.sqlstate
    return state is not None and state[:2] not in ("08", "57")


def _is_busy(error: Exception) -> bool:
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


def _marked(statement: str) -> str:
    """The statement with psycopg's placeholders; no statement of the catalog has either character in a literal."""
    return statement.replace("%", "%%").replace("?", "%s")


def _unreachable(name: str, reason: str) -> StorageError:
    return StorageError("CATALOG_UNREACHABLE", name=name, reason=reason)
