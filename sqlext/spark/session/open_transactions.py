"""The open transactions of Spark's sessions: at most one in each."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterable
from threading import Lock

from sqlext.catalog.dropped_table import system_clock
from sqlext.catalog.open_transaction import OpenTransaction
from sqlext.errors import AnalysisError
from sqlext.spark.catalog.session_catalogs import Catalogs


class OpenTransactions:
    """By the session's id, as Spark's side tells it."""

    def __init__(
        self,
        catalogs: Catalogs,
        rng: random.Random,
        checks: Callable[[], Iterable[int]] = lambda: range(1),
        clock: Callable[[], int] = system_clock,
    ) -> None:
        """`checks` and `clock` as of `OpenTransaction`."""
        self._catalogs = catalogs
        self._rng = rng
        self._checks = checks
        self._clock = clock
        self._open: dict[str, tuple[str, OpenTransaction]] = {}
        self._lock = Lock()

    def catalogs_of(self, session: str) -> Catalogs:
        """All catalogs, as the session sees them."""
        found = self._open.get(session)
        return self._catalogs if found is None else self._catalogs.within(found[1])

    def is_open(self, session: str) -> bool:
        """Whether the session has a transaction."""
        return session in self._open

    def changed_tables(self, session: str) -> list[tuple[str, ...]]:
        """The names, by their parts, of the tables that the session's transaction has changed; none without one."""
        found = self._open.get(session)
        return [] if found is None else found[1].changed_tables()

    def begin(self, session: str, *, serializable: bool = False) -> None:
        """`AnalysisError` TRANSACTION_IN_PROGRESS."""
        with self._lock:
            if session in self._open:
                raise AnalysisError("TRANSACTION_IN_PROGRESS")
            identity = str(uuid.UUID(int=self._rng.getrandbits(128), version=4))
            transaction = OpenTransaction(
                identity,
                self._catalogs.keep_pending,
                serializable=serializable,
                checks=self._checks,
                clock=self._clock,
            )
            self._open[session] = (identity, transaction)

    def current(self, session: str, statement: str) -> OpenTransaction:
        """`AnalysisError` NO_TRANSACTION, in which `statement` is refused."""
        return self._required(session, statement)[1]

    def commit(self, session: str) -> None:
        """Errors of `current`, and those of the commit; the transaction is over in any case."""
        transaction = self._end(session, "COMMIT")
        transaction.commit()

    def roll_back(self, session: str) -> None:
        """Errors of `current`."""
        self._end(session, "ROLLBACK").roll_back()

    def _end(self, session: str, statement: str) -> OpenTransaction:
        with self._lock:
            identity, transaction = self._required(session, statement)
            del self._open[session]
        self._catalogs.release_pending(identity)
        return transaction

    def _required(self, session: str, statement: str) -> tuple[str, OpenTransaction]:
        found = self._open.get(session)
        if found is None:
            raise AnalysisError("NO_TRANSACTION", statement=statement)
        return found
