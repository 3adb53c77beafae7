"""What has become of changes that a catalog was asked for and did not say to have made.

A request may be delivered twice, late, or in part, and its answer may get lost on the way. So whatever was answered,
each table is looked at before anything is sent again on newer metadata, or deleted. Three things settle a request: the
table shows what it brings; or the table has become one on which it can never land; or the catalog has said no, and the
table does not show it. Anything else is `CommitStateUnknown`
([decision 9](../../docs/decisions/0009-a-request-is-open-until-it-is-settled.md)).
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
    unsettled,
)
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata, decode_table_metadata
from sqlext.storage.file_io import FileIO

Send: TypeAlias = Callable[[Sequence[TableCommit]], Sequence[LoadedTable]]
"""Asks for changes in one request, once more: the tables as they are after it. Errors as `Catalog.commit`."""

Answer: TypeAlias = CommitConflict | AlreadyExistsError | CommitStateUnknown


class Fate(Enum):
    """Of a change of one table that has been sent."""

    LANDED = auto()
    OPEN = auto()
    """It is not there, and may still come."""
    OVERTAKEN = auto()
    """It is not there, and cannot land on what the table has become."""
    GONE = auto()
    """The table is not there, or another one is: where it came back the change might be in it."""
    LOST = auto()
    """Versions of the table in which it might have been are gone."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A change as its table shows it; `current` is None where there is no table. `is_taken`: the name is a table's or
    a view's."""

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
    """The tables where all changes have landed; None where none has, as the tables have newer versions or the catalog
    was busy: they may be made again on what the tables are now.

    `answer` is what came back instead of a success, `checks` numbers the looks, waiting before each but the first.
    What has no answer is sent again as it was, as long as it can land: it has one place to go, whichever of the
    requests gets there. `CommitStateUnknown` where it stays open. Any other error: the catalog refused the changes, and
    none of them has landed.
    """
    return _Request(catalog, changes, answer, send).settled(checks)


class _Request:
    """A request, and what was sent again for it."""

    def __init__(self, catalog: Catalog, changes: Sequence[TableCommit], answer: Answer, send: Send) -> None:
        self._catalog = catalog
        self._names = CatalogNames(catalog.name)
        self._changes = changes
        self._send = send
        # A folder or a database knows who was first; a server knows only what a proxy has made of the request.
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
        """Whether it is an answer; the last refusal and the last reason are kept."""
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

    # what the tables show

    def _look(self) -> Sequence[_Seen] | None:
        """None where a table cannot be looked at."""
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
        # Who lost for certain may have lost to another one's change that is like its own.
        tells = not self._is_exact or (change.base is not None and bool(brought_snapshots(change)))
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

    # what follows from it

    def _is_decided(self, seen: Sequence[_Seen]) -> bool:
        """Whether neither another look nor sending again would tell more."""
        fates = {one.fate for one in seen}
        if fates == {Fate.LANDED}:
            return True
        if Fate.LANDED in fates:
            return fates != {Fate.LANDED, Fate.OPEN} or self._rest_is_refused
        if self._is_exact or self._is_answered:
            return True
        # A table that is to be made, and not there, may have been made and dropped: it is not made once more.
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
        """Nothing for a race that was lost, which may be tried again."""
        if not isinstance(self._refusal, CommitConflict):
            assert self._refusal is not None
            raise self._refusal

    def _of_a_table_gone(self, seen: _Seen) -> SqlextError:
        """Its files stay, as the table may be brought back, with the change in it."""
        change = seen.change
        if change.base is not None:
            return unsettled(self._names.not_found(change.identifier))
        if self._is_answered and self._refusal is not None:
            was_taken = isinstance(self._refusal, AlreadyExistsError)
            return unsettled(self._refusal) if was_taken and not seen.is_taken else self._refusal
        return unsettled(self._names.taken(change.identifier))

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
    """Whether these metadata are what the change makes, or made of that: by the id of any snapshot that it brings, by
    the uuid of a new table, else by all of the metadata."""
    if change.base is None:
        return metadata.table_uuid == change.updated.table_uuid
    brought = {one.snapshot_id for one in brought_snapshots(change)}
    if brought:
        # One that is there tells of all that land with it; the others may be gone with their branches.
        return any(one.snapshot_id in brought for one in metadata.snapshots)
    before = change.base.metadata
    if _without_time(change.updated) == _without_time(before):
        # It changes nothing, so that only its time can tell it from its base.
        return _without_log(metadata) == _without_log(change.updated)
    return _without_time(metadata) == _without_time(change.updated)


def brought_snapshots(change: TableCommit) -> Sequence[Snapshot]:
    """The snapshots that the table has not before it."""
    before = () if change.base is None else change.base.metadata.snapshots
    known = {one.snapshot_id for one in before}
    return [one for one in change.updated.snapshots if one.snapshot_id not in known]


def is_missing_from(change: TableCommit, current: LoadedTable, io: FileIO) -> bool | None:
    """Whether the change is in no version from its base to newer metadata that do not show it; None: nobody knows, as
    some of them are gone. Errors of the storage, `CorruptionError`."""
    base = change.base
    assert base is not None
    brought = brought_snapshots(change)
    if brought and base.metadata.format_version > 1 and brought[0].parent_snapshot_id is not None:
        # No two snapshots that have a parent get one sequence number.
        numbers = {one.sequence_number for one in current.metadata.snapshots}
        if brought[0].sequence_number in numbers:
            return True
    log = [entry.metadata_file for entry in current.metadata.metadata_log]
    if base.metadata_location not in log:
        return None
    # Without snapshots it is told by what it makes of the version that it landed on, which may be newer than its base.
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
    """Whether metadata which a catalog answers are such as the change can have made: its table, with its snapshots. A
    new table's uuid may be the server's own."""
    is_its_table = change.base is None or metadata.table_uuid == change.base.metadata.table_uuid
    brought = {one.snapshot_id for one in brought_snapshots(change)}
    return is_its_table and brought <= {one.snapshot_id for one in metadata.snapshots}


def _difference(before: TableMetadata, after: TableMetadata) -> Mapping[str, object]:
    """By field: what is other; of several entries, those that are gone and those that are new."""
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
    """What is the same wherever a catalog puts it."""
    return replace(metadata, metadata_log=())


def _without_time(metadata: TableMetadata) -> TableMetadata:
    """What is the same whenever a catalog writes it."""
    return replace(metadata, metadata_log=(), last_updated_ms=0)
