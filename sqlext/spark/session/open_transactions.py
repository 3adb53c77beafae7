"""The open transactions of Spark sessions, at most one for each."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock

from sqlext.catalog.open_transaction import OpenTransaction
from sqlext.catalog.pending_catalog import SharedKeys, no_keys
from sqlext.errors import AnalysisError
from sqlext.spark.catalog.session_catalogs import Catalogs
from sqlext.storage.clock import system_clock

_IN = "@"


class OpenTransactions:
    """Open transactions by session id.

    A session's own setting says too that it has one, by a mark with the id of this object: if the Python side is
    another one by then, as after its process has ended, the transaction is lost.
    """

    def __init__(
        self,
        catalogs: Catalogs,
        rng: random.Random,
        checks: Callable[[], Iterable[int]] = lambda: range(1),
        clock: Callable[[], int] = system_clock,
    ) -> None:
        """`checks` and `clock` are passed to `OpenTransaction`."""
        self._catalogs = catalogs
        self._rng = rng
        self._checks = checks
        self._clock = clock
        self._open: dict[str, tuple[str, OpenTransaction]] = {}
        self._lock = Lock()
        self._id = str(uuid.UUID(int=rng.getrandbits(128), version=4))

    def mark(self, session: str) -> str:
        """What the session's setting says of its transaction."""
        return f"{session}{_IN}{self._id}"

    def is_lost(self, session: str | None) -> bool:
        """Whether a session's mark tells of a transaction that began in another Python process; an id tells of none."""
        _, marked, owner = (session or "").partition(_IN)
        return bool(marked) and owner != self._id

    def require_kept(self, session: str | None) -> None:
        """Raises AnalysisError TRANSACTION_LOST if the mark of a session tells of a lost transaction."""
        if self.is_lost(session):
            raise AnalysisError("TRANSACTION_LOST")

    def require_own(self, session: str, mark: str | None) -> None:
        """Raises AnalysisError TRANSACTION_OF_ANOTHER_SESSION if the session's mark tells of the open transaction of
        another, of which it is a clone: it would not read what it changes. Raises as `require_kept`."""
        self.require_kept(mark)
        if mark is not None and not mark.startswith(f"{session}{_IN}") and self.is_open(mark):
            raise AnalysisError("TRANSACTION_OF_ANOTHER_SESSION")

    def catalogs_of(self, session: str) -> Catalogs:
        """The catalogs as the session, an id or a mark, sees them: with its uncommitted changes. Raises as
        `require_kept`."""
        self.require_kept(session)
        found = self._open.get(session.partition(_IN)[0])
        return self._catalogs if found is None else self._catalogs.within(found[1])

    def is_open(self, session: str) -> bool:
        """Whether the session, an id or a mark, has an open transaction."""
        return session.partition(_IN)[0] in self._open

    def identity(self, session: str) -> str | None:
        """The id of the session's open transaction; None without one."""
        found = self._open.get(session)
        return None if found is None else found[0]

    def changed_tables(self, session: str) -> list[tuple[str, ...]]:
        """Names, as parts, of the tables that the session's transaction has changed; none without a transaction."""
        found = self._open.get(session)
        return [] if found is None else found[1].changed_tables()

    def changing(self, table: tuple[str, ...], *, besides: str) -> int:
        """How many open transactions of other sessions than `besides` have changed the table, named by its parts."""
        with self._lock:
            others = [found[1] for session, found in self._open.items() if session != besides]
        return sum(table in other.changed_tables() for other in others)

    def begin(self, session: str, *, serializable: bool = False) -> None:
        """Raises AnalysisError TRANSACTION_IN_PROGRESS."""
        with self._lock:
            if session in self._open:
                raise AnalysisError("TRANSACTION_IN_PROGRESS")
            identity = str(uuid.UUID(int=self._rng.getrandbits(128), version=4))
            transaction = OpenTransaction(
                identity,
                self._catalogs.remembered.keep_pending,
                serializable=serializable,
                checks=self._checks,
                clock=self._clock,
            )
            self._open[session] = (identity, transaction)

    @contextmanager
    def trial(self, over: OpenTransaction | None) -> Iterator[OpenTransaction]:
        """A transaction of one statement, `over` that of its session if one is open, which is rolled back at the end.

        It is no session's: other statements, also of the same session, neither see its changes nor take part in it.
        """
        identity = str(uuid.UUID(int=self._rng.getrandbits(128), version=4))
        trial = OpenTransaction(identity, self._catalogs.remembered.keep_pending, clock=self._clock, over=over)
        try:
            yield trial
        finally:
            trial.roll_back()
            self._catalogs.remembered.release_pending(identity)

    @contextmanager
    def of_statement(self, commit: Callable[[OpenTransaction], None]) -> Iterator[OpenTransaction]:
        """A transaction of one statement, which `commit` commits at the end of the block, or rolled back after an
        error. It is no session's."""
        identity = str(uuid.UUID(int=self._rng.getrandbits(128), version=4))
        transaction = OpenTransaction(
            identity, self._catalogs.remembered.keep_pending, checks=self._checks, clock=self._clock
        )
        try:
            try:
                yield transaction
            except BaseException:
                transaction.roll_back()
                raise
            commit(transaction)
        finally:
            self._catalogs.remembered.release_pending(identity)

    def current(self, session: str, statement: str) -> OpenTransaction:
        """The session's transaction. Raises AnalysisError NO_TRANSACTION, with `statement` as the refused statement."""
        return self._required(session, statement)[1]

    def commit(self, session: str, shared_keys: SharedKeys = no_keys) -> None:
        """Commits and ends the transaction; it ends also if the commit fails. Raises as `current` and as the commit,
        with `shared_keys`."""
        transaction = self._end(session, "COMMIT")
        transaction.commit(shared_keys=shared_keys)

    def roll_back(self, session: str) -> None:
        """Raises as `current`."""
        self._end(session, "ROLLBACK").roll_back()

    def _end(self, session: str, statement: str) -> OpenTransaction:
        with self._lock:
            identity, transaction = self._required(session, statement)
            del self._open[session]
        self._catalogs.remembered.release_pending(identity)
        return transaction

    def _required(self, session: str, statement: str) -> tuple[str, OpenTransaction]:
        found = self._open.get(session)
        if found is None:
            raise AnalysisError("NO_TRANSACTION", statement=statement)
        return found
