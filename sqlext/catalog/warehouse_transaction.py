"""Commits of several tables of a warehouse folder, in which each table has its own compare-and-swap.

Each table gets its next metadata file, with a mark: the transaction's id, and which file the table had before. The
outcome (`Outcomes`) is one small file that is made once, and that is the moment in which all changes land. Until then,
and ever after an abort, a marked file counts as the one before it. A writer that meets a marked file without an outcome
for longer than a while aborts its transaction, whose process has died or hangs; and after an abort the next file is
that of the table before it. So a crash between any two steps ends as one or the other.

Engines that do not know the mark see the marked files at once, those of an aborted transaction for as long as it takes
to take them back.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from sqlext.catalog.catalog import LoadedTable, TableCommit
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.transaction_mark import MARK, Mark, mark_of, unmarked
from sqlext.catalog.transaction_outcomes import COMMITTED, MarkedTable, Newest, Outcomes
from sqlext.errors import CommitConflict, CommitStateUnknown, SqlextError

_ATTEMPTS = 3

Swap = Callable[[TableCommit], LoadedTable]
"""The compare-and-swap of one table: `CommitConflict` when its base is no longer current, `CommitStateUnknown`."""


class WarehouseTransaction:
    """The steps of one commit of several tables, each of which has a base."""

    def __init__(
        self,
        outcomes: Outcomes,
        transaction: uuid.UUID,
        clock: Callable[[], int],
        take_back: Callable[[TableIdentifier], None],
        newest: Newest,
    ) -> None:
        """`take_back` puts the table before an aborted transaction behind the file that it has left."""
        self._outcomes = outcomes
        self._transaction = transaction
        self._clock = clock
        self._take_back = take_back
        self._newest = newest

    def commit(self, changes: Sequence[TableCommit], swap: Swap, validate: Callable[[], None]) -> Sequence[LoadedTable]:
        """The tables in the order of the changes. Errors as `Catalog.commit_tables`.

        `validate` looks at other tables that the changes depend on, when all of them have their marked files; what it
        raises aborts the transaction.
        """
        begun = self._clock()
        try:
            made = [swap(self._marked(change, begun)) for change in changes]
            validate()
        except BaseException as error:
            self._abort(changes)
            self._forget(changes)
            if isinstance(error, CommitStateUnknown):
                # Whether that file is there or not, its transaction has not landed.
                raise CommitConflict("COMMIT_CONFLICT", **_about(error)) from error
            raise
        if not self._is_committed(made):
            self._abort(changes)
            reason = "another writer has aborted the transaction, which had no outcome for too long"
            raise CommitConflict("COMMIT_CONFLICT", name=str(changes[0].identifier), reason=reason)
        return made

    def _is_committed(self, made: Sequence[LoadedTable]) -> bool:
        """Tells the outcome. `CommitStateUnknown` where the store gives no answer."""
        tables = [
            MarkedTable(one.identifier, one.metadata.table_uuid, one.metadata_location.rpartition("/")[2])
            for one in made
        ]
        failure: Exception | None = None
        for _ in range(_ATTEMPTS):
            try:
                return self._outcomes.commit(self._transaction, tables) == COMMITTED
            except Exception as error:
                failure = error
        name = ", ".join(str(table.identifier) for table in made)
        raise CommitStateUnknown("COMMIT_STATE_UNKNOWN", name=name, reason=failure, commit_id=self._transaction)

    def _abort(self, changes: Sequence[TableCommit]) -> None:
        """What fails here others do: a transaction without an outcome is aborted."""
        with suppress(Exception):
            self._outcomes.abort(self._transaction)
            for change in changes:
                with suppress(Exception):
                    self._take_back(change.identifier)

    def _forget(self, changes: Sequence[TableCommit]) -> None:
        """Deletes the outcome of a transaction that was aborted before it asked for another one, where no table has its
        mark: nobody asks for it then. Where that is not known, the outcome stays."""
        with suppress(Exception):
            newest = [self._newest(change.identifier) for change in changes]
            marks = [None if table is None else mark_of(table) for table in newest]
            if not any(mark is not None and mark.transaction == self._transaction for mark in marks):
                self._outcomes.forget(self._transaction)

    def _marked(self, change: TableCommit, begun: int) -> TableCommit:
        if change.base is None:
            raise ValueError("a table that is made has no base to go back to")
        mark = Mark(self._transaction, change.base.metadata_location.rpartition("/")[2], begun)
        updated = unmarked(change.updated)
        return replace(change, updated=replace(updated, extra={**updated.extra, MARK: mark.to_json()}))


def _about(error: SqlextError) -> Mapping[str, str]:
    return {name: error.parameters[name] for name in ("name", "reason")}
