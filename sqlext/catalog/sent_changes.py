"""Settles changes that a catalog did not answer with a success.

A request may be delivered twice, late or in part, and its answer may be lost. Whatever the answer, each table is loaded
before anything is staged again or deleted. A request is settled if the table shows its change, if the change can no
longer succeed on the current version, or if the catalog refused it and the table does not show it. Otherwise the result
is `CommitStateUnknown` ([decision 9](../../docs/decisions/0009-a-request-is-open-until-it-is-settled.md)).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum, auto
from typing import TypeAlias

from sqlext.catalog.catalog import Catalog, LoadedTable, TableCommit
from sqlext.catalog.catalog_names import CatalogNames
from sqlext.errors import (
    AlreadyExistsError,
    AnalysisError,
    CommitConflict,
    CommitStateUnknown,
    NotFoundError,
    SqlextError,
    as_state_unknown,
)
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata
from sqlext.storage.file_io import FileIO

Send: TypeAlias = Callable[[Sequence[TableCommit]], Sequence[LoadedTable]]
"""Sends changes again in one request and returns the tables after it. Raises as `Catalog.commit`."""

Answer: TypeAlias = CommitConflict | AlreadyExistsError | CommitStateUnknown


class Fate(Enum):
    """State of a sent change of one table."""

    LANDED = auto()
    OPEN = auto()
    """The table does not show it, and it may still succeed."""
    OVERTAKEN = auto()
    """The table does not show it, and it cannot succeed on the current version."""
    GONE = auto()
    """The table is missing or another one. If it is restored, it might have the change."""
    LOST = auto()
    """Versions that might have the change are gone."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A change and its table; `current` is None without a table. `is_taken`: a table or view has the name."""

    change: TableCommit
    current: LoadedTable | None
    fate: Fate
    is_taken: bool


def settled(
    catalog: Catalog,
    changes: Sequence[TableCommit],
    answer: Answer,
    send: Send,
    checks: Iterable[int],
) -> Sequence[LoadedTable] | None:
    """The tables if all changes have succeeded. None if none has, because of newer versions or a busy catalog: they may
    be staged again.

    `answer` is the error that came instead of a success; `checks` numbers the status checks, and waits before each but
    the first. An unanswered request is sent again unchanged while it can succeed; at most one delivery does. Raises
    CommitStateUnknown if the request stays open, and any other error if the catalog refused the changes and none of
    them succeeded.
    """
    return _Request(catalog, changes, answer, send).settled(checks)


class _Request:
    """A request and its repetitions."""

    def __init__(self, catalog: Catalog, changes: Sequence[TableCommit], answer: Answer, send: Send) -> None:
        self._catalog = catalog
        self._names = CatalogNames(catalog.name)
        self._changes = changes
        self._send = send
        # A folder or database knows which writer was first; a server's answer may be about a proxy's second delivery.
        self._is_exact = not isinstance(answer, CommitStateUnknown)
        self._is_answered = self._hears(answer)
        self._rest_is_refused = False

    def settled(self, checks: Iterable[int]) -> Sequence[LoadedTable] | None:
        for _ in checks:
            seen = self._look()
            if seen is None:
                continue
            if self._is_decided(seen):
                return self._outcome(seen)
            again = [one.change for one in seen if one.fate == Fate.OPEN]
            if again:
                tables = self._sent_again(again)
                if tables is not None and len(again) == len(self._changes):
                    return tables
                seen = self._look()
                if seen is not None and self._is_decided(seen):
                    return self._outcome(seen)
        raise self._unknown(self._reason)

    def _hears(self, answer: Answer) -> bool:
        """Whether `answer` is conclusive; keeps its refusal and reason."""
        refusal = answer.refusal if isinstance(answer, CommitStateUnknown) else answer
        self._refusal = refusal
        self._reason = str(answer.parameters.get("reason", answer.message))
        return refusal is not None

    def _sent_again(self, changes: Sequence[TableCommit]) -> Sequence[LoadedTable] | None:
        is_rest = len(changes) < len(self._changes)
        try:
            return self._send(changes)
        except (CommitConflict, AlreadyExistsError, CommitStateUnknown) as answer:
            self._rest_is_refused = self._hears(answer) and is_rest
        except SqlextError as failure:
            self._reason = failure.message
        return None

    # loading the tables

    def _look(self) -> Sequence[_Seen] | None:
        """None if a table cannot be loaded."""
        try:
            return [self._seen(change) for change in self._changes]
        except (SqlextError, OSError) as failure:
            self._reason = str(failure)
            return None

    def _seen(self, change: TableCommit) -> _Seen:
        try:
            current = self._catalog.load_table(change.identifier)
        except NotFoundError:
            return _Seen(change, None, Fate.GONE, is_taken=False)
        except AnalysisError:
            # A view has the name.
            return _Seen(change, None, Fate.GONE, is_taken=True)
        return _Seen(change, current, self._fate(change, current), is_taken=True)

    def _fate(self, change: TableCommit, current: LoadedTable) -> Fate:
        # After a certain loss, an equal change may be another writer's.
        tells = not self._is_exact or (change.base is not None and bool(added_snapshots(change)))
        if tells and is_in(change, current.metadata):
            return Fate.LANDED
        if change.base is None or current.metadata.table_uuid != change.base.metadata.table_uuid:
            return Fate.GONE
        if current.metadata_location == change.base.metadata_location:
            return Fate.OPEN
        if self._is_exact:
            return Fate.OVERTAKEN
        is_missing = is_missing_from(change, current, self._catalog.io)
        if is_missing is None:
            return Fate.LOST
        if not is_missing:
            return Fate.LANDED
        return Fate.OPEN if self._catalog.may_still_land(change, current) else Fate.OVERTAKEN

    # conclusions

    def _is_decided(self, seen: Sequence[_Seen]) -> bool:
        """Whether further checks or repetitions could tell no more."""
        fates = {one.fate for one in seen}
        if fates == {Fate.LANDED}:
            return True
        if Fate.LANDED in fates:
            return fates != {Fate.LANDED, Fate.OPEN} or self._rest_is_refused
        if self._is_exact or self._is_answered:
            return True
        # A missing table that the request creates may have been created and dropped: it is not created again.
        is_missing = all(one.change.base is None and not one.is_taken for one in seen)
        return not is_missing and fates != {Fate.OPEN}

    def _outcome(self, seen: Sequence[_Seen]) -> Sequence[LoadedTable] | None:
        fates = {one.fate for one in seen}
        if fates == {Fate.LANDED}:
            return [one.current for one in seen if one.current is not None]
        if Fate.LANDED in fates:
            raise self._in_part(seen)
        if self._is_exact:
            self._raise_refusal()
            return None
        if Fate.LOST in fates:
            lost = next(one.change.base for one in seen if one.fate == Fate.LOST)
            assert lost is not None
            raise self._unknown(f"the version after {lost.metadata_location} is gone")
        if Fate.GONE in fates:
            raise self._of_a_table_gone(next(one for one in seen if one.fate == Fate.GONE))
        if self._is_answered:
            has_moved = any(_location(one.current) != _location(one.change.base) for one in seen)
            if not has_moved:
                self._raise_refusal()
            return None
        if fates == {Fate.OVERTAKEN}:
            return None
        raise self._unknown(self._reason)

    def _raise_refusal(self) -> None:
        """Raises the refusal, unless it is a lost race, which may be retried."""
        if not isinstance(self._refusal, CommitConflict):
            assert self._refusal is not None
            raise self._refusal

    def _of_a_table_gone(self, seen: _Seen) -> SqlextError:
        """The error for a missing table, whose files stay, since it may be restored with the change."""
        change = seen.change
        if change.base is not None:
            return as_state_unknown(self._names.not_found(change.identifier))
        if self._is_answered and self._refusal is not None:
            was_taken = isinstance(self._refusal, AlreadyExistsError)
            return as_state_unknown(self._refusal) if was_taken and not seen.is_taken else self._refusal
        return as_state_unknown(self._names.taken(change.identifier))

    def _in_part(self, seen: Sequence[_Seen]) -> CommitStateUnknown:
        landed = ", ".join(self._name(one) for one in seen if one.fate == Fate.LANDED)
        missing = ", ".join(self._name(one) for one in seen if one.fate != Fate.LANDED)
        return CommitStateUnknown(
            "COMMIT_IN_PART", name=self._catalog.name, landed=landed, missing=missing, reason=self._reason
        )

    def _unknown(self, reason: str) -> CommitStateUnknown:
        name = ", ".join(self._names.table(change.identifier) for change in self._changes)
        return CommitStateUnknown("CHANGE_STATE_UNKNOWN", name=name, reason=reason)

    def _name(self, seen: _Seen) -> str:
        return self._names.table(seen.change.identifier)


def is_in(change: TableCommit, metadata: TableMetadata) -> bool:
    """Whether `metadata` contain the change: any snapshot that it adds, the uuid of a table that it creates, or else
    all its metadata."""
    if change.base is None:
        return metadata.table_uuid == change.updated.table_uuid
    brought = added_snapshots(change)
    if brought:
        # One snapshot suffices: others of the same change may have been removed with their branches.
        return any(metadata.snapshot_or_none(one.snapshot_id) is not None for one in brought)
    before = change.base.metadata
    if _without_time(change.updated) == _without_time(before):
        # The change is empty: only the time distinguishes it from its base.
        return _without_log(metadata) == _without_log(change.updated)
    return _without_time(metadata) == _without_time(change.updated)


def added_snapshots(change: TableCommit) -> Sequence[Snapshot]:
    """The snapshots that the change adds."""
    return change.updated.snapshots_not_in(None if change.base is None else change.base.metadata)


def is_missing_from(change: TableCommit, current: LoadedTable, io: FileIO) -> bool | None:
    """Whether no version from the change's base to `current`, which does not show it, has the change; None if some of
    these versions are gone. Raises StorageError or CorruptionError."""
    base = change.base
    assert base is not None
    brought = added_snapshots(change)
    if brought and base.metadata.format_version > 1 and brought[0].parent_snapshot_id is not None:
        # No two snapshots with a parent have the same sequence number.
        numbers = {one.sequence_number for one in current.metadata.snapshots}
        if brought[0].sequence_number in numbers:
            return True
    log = [entry.metadata_file for entry in current.metadata.metadata_log]
    if base.metadata_location not in log:
        return None
    # A change without snapshots is recognised by its difference from the version before, which may be newer than its
    # base.
    made = {} if brought else _difference(base.metadata, change.updated)
    before = base.metadata
    try:
        for location in log[log.index(base.metadata_location) + 1 :]:
            after = decode_table_metadata(io.read(location), location)
            if is_in(change, after) or (made and made == _difference(before, after)):
                return False
            before = after
    except FileNotFoundError:
        return None
    return not made or made != _difference(before, current.metadata)


def shows(change: TableCommit, metadata: TableMetadata) -> bool:
    """Whether the metadata in a catalog's answer can be the result of the change: its table, with its snapshots. A
    server may give a new table another uuid."""
    is_its_table = change.base is None or metadata.table_uuid == change.base.metadata.table_uuid
    brought = added_snapshots(change)
    return is_its_table and all(metadata.snapshot_or_none(one.snapshot_id) is not None for one in brought)


def _difference(before: TableMetadata, after: TableMetadata) -> Mapping[str, object]:
    """Differences by field; for collections, the removed and the added elements."""
    found: dict[str, object] = {}
    for field in fields(TableMetadata):
        old, new = getattr(before, field.name), getattr(after, field.name)
        if old == new or field.name in ("metadata_log", "last_updated_ms"):
            continue
        if isinstance(new, Mapping):
            old, new = tuple(old.items()), tuple(new.items())
        if isinstance(new, tuple):
            found[field.name] = [one for one in old if one not in new], [one for one in new if one not in old]
        else:
            found[field.name] = new
    return found


def _location(table: LoadedTable | None) -> str | None:
    return None if table is None else table.metadata_location


def _without_log(metadata: TableMetadata) -> TableMetadata:
    """The metadata without what depends on where a catalog writes them."""
    return replace(metadata, metadata_log=())


def _without_time(metadata: TableMetadata) -> TableMetadata:
    """The metadata without what depends on when a catalog writes them."""
    return replace(metadata, metadata_log=(), last_updated_ms=0)
