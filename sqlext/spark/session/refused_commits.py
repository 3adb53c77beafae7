"""The last statement of each Spark session that was refused because of another commit, for EXPLAIN COMMIT."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from sqlext.errors import Contender

_MOST_SESSIONS = 1_000
_LONGEST_TEXT = 2_000


@dataclass(frozen=True, slots=True)
class RefusedCommit:
    """A refused statement, at `refused_ms` since 1970, with the condition and message of its error.

    `name` is that of the table in the error. `tables` are the full names, as parts, of those that it changed, as far as
    the statement says. `contender` is None if the error does not tell it.
    """

    statement: str
    name: str
    tables: Sequence[tuple[str, ...]]
    refused_ms: int
    condition: str
    message: str
    contender: Contender | None


class RefusedCommits:
    """One refused commit a session, of as many sessions as last had one; thread-safe."""

    def __init__(self) -> None:
        self._last: OrderedDict[str, RefusedCommit] = OrderedDict()
        self._lock = Lock()

    def keep(self, session: str, refused: RefusedCommit) -> None:
        """Keeps it in the place of the session's earlier one."""
        with self._lock:
            self._last.pop(session, None)
            self._last[session] = refused
            if len(self._last) > _MOST_SESSIONS:
                self._last.popitem(last=False)

    def last(self, session: str) -> RefusedCommit | None:
        """The session's last one; None without one."""
        with self._lock:
            return self._last.get(session)


def statement_text(text: str) -> str:
    """A statement's text, of which a long one is cut."""
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"
