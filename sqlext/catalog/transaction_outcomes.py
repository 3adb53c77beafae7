"""Outcomes of transactions of several tables of a warehouse folder: one small file each, created once.

A file is deleted when no table needs it any more ([decision
11](../../docs/decisions/0011-an-outcome-is-kept-while-a-table-may-ask-for-it.md)).
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sqlext.catalog.catalog import LoadedTable
from sqlext.catalog.identifier import TableIdentifier
from sqlext.catalog.metadata_file import version_number
from sqlext.catalog.transaction_mark import mark_of
from sqlext.errors import CorruptionError
from sqlext.spec.metadata import metadata_checksum
from sqlext.spec.metadata.metadata_checksum import closing
from sqlext.spec.stored_bytes.checksum import differs_in_one_bit
from sqlext.storage.file_io import FileIO
from sqlext.storage.location import join

COMMITTED, ABORTED = b"committed", b"aborted"
OUTCOME = "outcome of a transaction"
"""The kind of these files in errors."""
# Minimum age of the version after a marked one, before the outcome is deleted: transactions read versions of this age.
_KEPT_MS = 3_600_000
# One in this many commits examines this many outcomes, which is more than are added between.
_COMMITS_PER_LOOK = 8
_MOST_LOOKED_AT = 32

Newest = Callable[[TableIdentifier], LoadedTable | None]
"""The newest metadata file of a table, marked or not; None without a table."""


@dataclass(frozen=True, slots=True)
class MarkedTable:
    """A table that a transaction has changed, and the name of its marked metadata file."""

    identifier: TableIdentifier
    table_uuid: str
    file: str


@dataclass(frozen=True, slots=True)
class _Committed:
    """What an outcome file contains besides `committed`."""

    at_ms: int
    tables: Sequence[MarkedTable]

    def encode(self) -> bytes:
        tables = [
            {
                "namespace": list(one.identifier.namespace),
                "name": one.identifier.name,
                "uuid": one.table_uuid,
                "file": one.file,
            }
            for one in self.tables
        ]
        text = COMMITTED + b"\n" + json.dumps({"committed-ms": self.at_ms, "tables": tables}).encode("utf-8")
        return (begun := text.removesuffix(b"}")) + closing([begun])

    @staticmethod
    def decode(data: bytes) -> _Committed | None:
        """None for a transaction that is not committed, or does not name its tables."""
        outcome, _, said = data.partition(b"\n")
        if outcome != COMMITTED:
            return None
        try:
            obj = json.loads(said)
            tables = [
                MarkedTable(TableIdentifier(tuple(one["namespace"]), one["name"]), str(one["uuid"]), str(one["file"]))
                for one in obj["tables"]
            ]
            return _Committed(int(obj["committed-ms"]), tables)
        except (ValueError, KeyError, TypeError):
            return None


class Outcomes:
    """The outcome files in `folder`. `clock` gives milliseconds since 1970."""

    def __init__(self, io: FileIO, folder: str, clock: Callable[[], int]) -> None:
        self._io = io
        self._folder = folder
        self._clock = clock

    def commit(self, transaction: uuid.UUID, tables: Sequence[MarkedTable]) -> bytes:
        """The outcome: COMMITTED, unless there was one before. After an error of the store either, or none, is
        possible."""
        return self._decide(transaction, _Committed(self._clock(), tables).encode())

    def abort(self, transaction: uuid.UUID) -> bytes:
        """The outcome: ABORTED, unless there was one before. Raises as `commit`."""
        return self._decide(transaction, ABORTED)

    def _decide(self, transaction: uuid.UUID, wanted: bytes) -> bytes:
        location = self.location(transaction)
        with suppress(FileExistsError):
            self._io.create(location, wanted)
            return _outcome(wanted, location)
        return _outcome(self._io.read(location), location)

    def of(self, transaction: uuid.UUID) -> bytes | None:
        """None for an open transaction, or a deleted file: then no newest metadata file has its mark. Raises
        CorruptionError for a file that says neither, which is not to be taken for an abort."""
        location = self.location(transaction)
        try:
            return _outcome(self._io.read(location), location)
        except FileNotFoundError:
            return None

    def forget(self, transaction: uuid.UUID) -> None:
        """Deletes the outcome of an aborted transaction, which without one counts as not committed too. The
        transaction's process must not request another outcome."""
        self._io.delete(self.location(transaction))

    def expire(self, transaction: uuid.UUID, newest: Newest) -> None:
        """Deletes some outcomes that no table needs; called once per committed transaction."""
        if transaction.int % _COMMITS_PER_LOOK:
            return
        there = sorted(status.path for status in self._io.list(self._folder))
        known: dict[TableIdentifier, LoadedTable | None] = {}

        def looked_up(identifier: TableIdentifier) -> LoadedTable | None:
            if identifier not in known:
                known[identifier] = newest(identifier)
            return known[identifier]

        chance = random.Random(transaction.int)
        for location in chance.sample(there, min(len(there), _MOST_LOOKED_AT)):
            with suppress(Exception):
                if self._is_over(location, looked_up):
                    self._io.delete(location)

    def _is_over(self, location: str, newest: Newest) -> bool:
        committed = _Committed.decode(self._io.read(location))
        before_ms = self._clock() - _KEPT_MS
        if committed is None or committed.at_ms > before_ms:
            return False
        transaction = uuid.UUID(_name(location))
        return all(_is_left(newest(one.identifier), one, transaction, before_ms) for one in committed.tables)

    def location(self, transaction: uuid.UUID) -> str:
        """The location of the outcome file."""
        return join(self._folder, str(transaction))


def outcome_without_flipped_bit(data: bytes) -> bytes | None:
    """An outcome file as it was before one bit of it changed; None if that is not what happened."""
    return ABORTED if differs_in_one_bit(data, ABORTED) else metadata_checksum.without_flipped_bit(data)


def _outcome(data: bytes, location: str) -> bytes:
    outcome = data.partition(b"\n")[0]
    if outcome not in (COMMITTED, ABORTED):
        raise CorruptionError(
            "CORRUPT_FILE", path=location, kind=OUTCOME, reason="it says neither committed nor aborted"
        )
    return outcome


def _is_left(newest: LoadedTable | None, marked: MarkedTable, transaction: uuid.UUID, before_ms: int) -> bool:
    """Whether the table had, at that time, a version after the marked one and without the transaction's mark. Versions
    are never removed from the end, so it stays."""
    if newest is None or newest.metadata.table_uuid != marked.table_uuid:
        return False
    mark = mark_of(newest)
    if mark is not None and mark.transaction == transaction:
        return False
    number, marked_number = version_number(newest.metadata_location), version_number(marked.file)
    if number is None or marked_number is None or number <= marked_number:
        return False
    names = [_name(entry.metadata_file) for entry in newest.metadata.metadata_log]
    if marked.file not in names:
        # The log has been trimmed.
        return True
    stamps = [*(entry.timestamp_ms for entry in newest.metadata.metadata_log), newest.metadata.last_updated_ms]
    return stamps[names.index(marked.file) + 1] <= before_ms


def _name(location: str) -> str:
    return location.rpartition("/")[2]
