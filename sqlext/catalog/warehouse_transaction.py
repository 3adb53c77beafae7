"""Commits of several tables of a warehouse folder, in which each table has its own compare-and-swap.

Each table gets its next metadata file, with a mark: the transaction's id, and which file the table had before. The
outcome is one small file that is made once, with `committed` or `aborted` in it, and that is the moment in which all
changes land. Until then, and ever after an abort, a marked file counts as the one before it. A writer that meets a
marked file without an outcome for longer than a while aborts its transaction, whose process has died or hangs; and
after an abort the next file is that of the table before it. So a crash between any two steps ends as one or the other.

Engines that do not know the mark see the marked files at once, those of an aborted transaction for as long as it takes
to take them back.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from sqlext.catalog.catalog import LoadedTable, TableCommit
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.metadata_file import version_number
from sqlext.errors import CommitConflict, CommitStateUnknown, CorruptionError, SqlextError
from sqlext.spec.table_metadata import TableMetadata
from sqlext.storage.file_io import FileIO
from sqlext.storage.location import join

MARK = "sqlext-transaction"
COMMITTED, ABORTED = b"committed", b"aborted"
# So long a transaction may take from its first marked file to its outcome, before others abort it.
_PATIENCE_MS = 10_000
_ATTEMPTS = 3

Swap = Callable[[TableCommit], LoadedTable]
"""The compare-and-swap of one table: `CommitConflict` when its base is no longer current, `CommitStateUnknown`."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a table's metadata file says of the transaction that wrote it; `base` is the file of the version before.

    It names no folder, as whoever wrote the file might name any.
    """

    transaction: uuid.UUID
    base: str
    begun_ms: int

    def to_json(self) -> Mapping[str, Any]:
        return {"id": str(self.transaction), "base": self.base, "begun-ms": self.begun_ms}


def mark_of(table: LoadedTable) -> Mark | None:
    """The mark of a metadata file, if it was written by a transaction of several tables. `CorruptionError`."""
    obj = table.metadata.extra.get(MARK)
    if obj is None:
        return None
    try:
        mark = Mark(uuid.UUID(obj["id"]), str(obj["base"]), int(obj["begun-ms"]))
        if "/" in mark.base or version_number(mark.base) is None:
            raise ValueError(f"{mark.base} is no metadata file")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        path = table.metadata_location
        raise CorruptionError("CORRUPT_FILE", path=path, kind="transaction mark", reason=error) from error
    return mark


def unmarked(metadata: TableMetadata) -> TableMetadata:
    """The metadata as the next version has it: a mark says something of one file alone."""
    if MARK not in metadata.extra:
        return metadata
    return replace(metadata, extra={name: value for name, value in metadata.extra.items() if name != MARK})


class Outcomes:
    """What has become of transactions: one file for each, in `folder`."""

    def __init__(self, io: FileIO, folder: str) -> None:
        self._io = io
        self._folder = folder

    def decide(self, transaction: uuid.UUID, wanted: bytes) -> bytes:
        """The outcome: `wanted`, unless it was told before. Errors of the store: it may be either, or none."""
        location = join(self._folder, str(transaction))
        with suppress(FileExistsError):
            self._io.create(location, wanted)
            return wanted
        return self._io.read(location)

    def of(self, transaction: uuid.UUID) -> bytes | None:
        """None while that is open."""
        try:
            return self._io.read(join(self._folder, str(transaction)))
        except FileNotFoundError:
            return None


class WarehouseTransaction:
    """The steps of one commit of several tables, each of which has a base."""

    def __init__(
        self,
        outcomes: Outcomes,
        transaction: uuid.UUID,
        clock: Callable[[], int],
        take_back: Callable[[TableIdentifier], None],
    ) -> None:
        """`take_back` puts the table before an aborted transaction behind the file that it has left."""
        self._outcomes = outcomes
        self._transaction = transaction
        self._clock = clock
        self._take_back = take_back

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
            if isinstance(error, CommitStateUnknown):
                # Whether that file is there or not, its transaction has not landed.
                raise CommitConflict("COMMIT_CONFLICT", **_about(error)) from error
            raise
        if not self._is_committed(changes):
            self._abort(changes)
            reason = "another writer has aborted the transaction, which had no outcome for too long"
            raise CommitConflict("COMMIT_CONFLICT", name=str(changes[0].identifier), reason=reason)
        return made

    def _is_committed(self, changes: Sequence[TableCommit]) -> bool:
        """Tells the outcome. `CommitStateUnknown` where the store gives no answer."""
        failure: Exception | None = None
        for _ in range(_ATTEMPTS):
            try:
                return self._outcomes.decide(self._transaction, COMMITTED) == COMMITTED
            except Exception as error:
                failure = error
        name = ", ".join(str(change.identifier) for change in changes)
        raise CommitStateUnknown("COMMIT_STATE_UNKNOWN", name=name, reason=failure, commit_id=self._transaction)

    def _abort(self, changes: Sequence[TableCommit]) -> None:
        """What fails here others do: a transaction without an outcome is aborted."""
        with suppress(Exception):
            self._outcomes.decide(self._transaction, ABORTED)
            for change in changes:
                with suppress(Exception):
                    self._take_back(change.identifier)

    def _marked(self, change: TableCommit, begun: int) -> TableCommit:
        if change.base is None:
            raise ValueError("a table that is made has no base to go back to")
        mark = Mark(self._transaction, change.base.metadata_location.rpartition("/")[2], begun)
        updated = unmarked(change.updated)
        return replace(change, updated=replace(updated, extra={**updated.extra, MARK: mark.to_json()}))


def is_overdue(mark: Mark, now_ms: int) -> bool:
    """Whether a transaction without an outcome may be aborted."""
    return now_ms - mark.begun_ms > _PATIENCE_MS


def _about(error: SqlextError) -> Mapping[str, str]:
    return {name: error.parameters[name] for name in ("name", "reason")}
