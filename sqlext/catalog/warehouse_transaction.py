"""Commits of several tables of a warehouse folder, each with its own compare-and-swap.

Each table gets its next metadata file with a mark: the transaction's id and the previous file. The outcome
(`Outcomes`), one small file that is created once, commits all changes at that moment. Before it, and after an abort, a
marked file counts as the previous one. A writer that finds a marked file without an outcome for too long aborts the
transaction, whose process has died or hangs. After an abort the table's previous version is committed again. A crash
between any two steps ends in a commit or an abort.

Engines that do not know the mark see marked files at once, and those of an aborted transaction until the previous
version is committed again.
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
"""The compare-and-swap of one table. Raises CommitConflict if the base is not current, or CommitStateUnknown."""


class WarehouseTransaction:
    """The steps of one commit of several tables, each with a base."""

    def __init__(
        self,
        outcomes: Outcomes,
        transaction: uuid.UUID,
        clock: Callable[[], int],
        take_back: Callable[[TableIdentifier], None],
        newest: Newest,
    ) -> None:
        """`take_back` commits the previous version of a table over the file of an aborted transaction."""
        self._outcomes = outcomes
        self._transaction = transaction
        self._clock = clock
        self._take_back = take_back
        self._newest = newest

    def commit(self, changes: Sequence[TableCommit], swap: Swap, validate: Callable[[], None]) -> Sequence[LoadedTable]:
        """The tables in the order of the changes. Raises as `Catalog.commit_tables`.

        `validate` checks other tables that the changes depend on, after all marked files are written; its errors abort
        the transaction.
        """
        begun = self._clock()
        try:
            made = [swap(self._marked(change, begun)) for change in changes]
            validate()
        except BaseException as error:
            self._abort(changes)
            self._forget(changes)
            if isinstance(error, CommitStateUnknown):
                # Whether that file exists or not, its transaction is not committed.
                raise CommitConflict("COMMIT_CONFLICT", **_about(error)) from error
            raise
        if not self._is_committed(made):
            self._abort(changes)
            reason = "another writer has aborted the transaction, which had no outcome for too long"
            raise CommitConflict("COMMIT_CONFLICT", name=str(changes[0].identifier), reason=reason)
        return made

    def _is_committed(self, made: Sequence[LoadedTable]) -> bool:
        """Creates the outcome. Raises CommitStateUnknown if the store does not answer."""
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
        """Failures are ignored: other writers abort a transaction without an outcome."""
        with suppress(Exception):
            self._outcomes.abort(self._transaction)
            for change in changes:
                with suppress(Exception):
                    self._take_back(change.identifier)

    def _forget(self, changes: Sequence[TableCommit]) -> None:
        """Deletes the outcome of a transaction that was aborted without requesting another, if no table has its mark,
        so that none needs the outcome. If marks cannot be read, it stays."""
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
