"""How far the identity columns of a table have counted, which commits of new rows and SYNC IDENTITY change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlext.commit.action import Action, CommitContext, StagedChange, Staging
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.overwrite_rows import OverwriteRows
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.errors import IdentitiesTaken
from sqlext.scan.identity_bounds import furthest_of, furthest_since, live_identities, marks_of
from sqlext.spec.identity_column import (
    FLOOR_PREFIX,
    GREATEST,
    LEAST,
    MARK_PREFIX,
    RESERVED_PREFIX,
    IdentityColumn,
    IdentityMark,
)
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.metadata_update import SetProperties
from sqlext.spec.metadata.requirement import AssertTableUUID
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata

# What came since is read again by each statement, from memory if it is the same process.
_UNRECORDED_SNAPSHOTS = 32


def counting(action: Action, planned_on: TableMetadata, written_as: TableMetadata) -> Action:
    """`action`, together with the new state of the identity columns, if its data files have values behind those that
    `planned_on` has given; `written_as` has the state from which they were given.

    That one is behind the state of `planned_on` if others have added values meanwhile, and before it if values were
    reserved.
    """
    columns = live_identities(planned_on)
    if not columns:
        return action
    files, before, given_from = _data_files(action), marks_of(planned_on), marks_of(written_as)
    moved: dict[int, IdentityMark] = {}
    for id, column in columns.items():
        furthest = furthest_of(files, id, column)
        known = column.furthest((before[id].value, given_from[id].value))
        if furthest is not None and column.is_further(furthest, known):
            moved[id] = IdentityMark(furthest, given_from[id].seen)
    if not moved:
        far = {id: given_from[id] for id in columns if given_from[id].seen > before[id].seen + _UNRECORDED_SNAPSHOTS}
        return RecordExamined(action, far) if far else action
    # More values than were reserved may be values of others.
    expected = {
        id: (given_from if _is_reserved(columns[id], before[id], given_from[id]) else before)[id].value for id in moved
    }
    return GiveIdentities(action, moved, {id: given_from[id].value for id in moved}, expected)


@dataclass(frozen=True, slots=True)
class RecordExamined:
    """Commits `write`, which gives no values, together with the state that was `examined` before it.

    So what statements that give no values examine anew each time stays little. Nothing conflicts with it.
    """

    write: Action
    examined: Mapping[int, IdentityMark]

    def begin(self, context: CommitContext) -> Staging:
        return _RecordStaging(self, self.write.begin(context))


class _RecordStaging:
    def __init__(self, action: RecordExamined, inner: Staging) -> None:
        self._action = action
        self._inner = inner

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("identity columns are those of a table")
        change = self._inner.stage(base)
        columns, marks = live_identities(base), marks_of(base)
        seen = {id: mark for id, mark in self._action.examined.items() if id in columns and mark.seen > marks[id].seen}
        if change.snapshot is None or not seen:
            return change
        properties = {
            f"{MARK_PREFIX}{id}": IdentityMark(columns[id].furthest((marks[id].value, mark.value)), mark.seen).encode()
            for id, mark in sorted(seen.items())
        }
        return replace(change, updates=(*change.updates, SetProperties(properties)))

    def finish(self, landed: Snapshot | None) -> None:
        self._inner.finish(landed)

    def abandon(self) -> None:
        self._inner.abandon()


def _is_reserved(column: IdentityColumn, counted: IdentityMark, given_from: IdentityMark) -> bool:
    return counted.value is not None and column.is_further(counted.value, given_from.value)


def _data_files(action: Action) -> Sequence[ContentFile]:
    match action:
        case AppendFiles(files=files) | RowDelta(data_files=files):
            return files
        case OverwriteFiles(added=files) | OverwriteRows(added=files):
            return files
    return ()


@dataclass(frozen=True, slots=True)
class GiveIdentities:
    """Commits `write`, whose rows have values of identity columns behind `given_from`, and `moved`, the state of those
    columns after them.

    Raises IdentitiesTaken, so that the statement runs again, if the state is not `expected` any more, or if another
    writer has added a value behind `given_from`: the rows may have values that others have too.
    """

    write: Action
    moved: Mapping[int, IdentityMark]
    given_from: Mapping[int, int | None]
    expected: Mapping[int, int | None]

    def begin(self, context: CommitContext) -> Staging:
        return _Staging(self, context, self.write.begin(context))


class _Staging:
    def __init__(self, action: GiveIdentities, context: CommitContext, inner: Staging) -> None:
        self._action = action
        self._context = context
        self._inner = inner

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("identity columns are those of a table")
        self._require_unused(base)
        change = self._inner.stage(base)
        moved = {f"{MARK_PREFIX}{id}": mark.encode() for id, mark in sorted(self._action.moved.items())}
        return replace(change, updates=(*change.updates, SetProperties(moved)))

    def finish(self, landed: Snapshot | None) -> None:
        self._inner.finish(landed)

    def abandon(self) -> None:
        self._inner.abandon()

    def _require_unused(self, base: TableMetadata) -> None:
        action, context = self._action, self._context
        marks, columns = marks_of(base), live_identities(base)
        for id, mark in action.moved.items():
            if id not in columns or marks[id].value != action.expected[id]:
                raise self._taken("another commit gave values", columns)
            if base.last_sequence_number == mark.seen and base.format_version > 1:
                continue
            # One that is not sqlext adds values and leaves the state as it is.
            added = furthest_since(context.io, context.manifests, base, id, columns[id], mark.seen)
            if added is not None and columns[id].is_further(added, action.given_from[id]):
                raise self._taken("another commit added values", columns)

    def _taken(self, what: str, columns: Mapping[int, IdentityColumn]) -> IdentitiesTaken:
        action = self._action
        needed = {
            id: columns[id].count(action.given_from[id], mark.value)
            for id, mark in action.moved.items()
            if id in columns and mark.value is not None
        }
        reason = f"{what} to an identity column"
        return IdentitiesTaken("CONCURRENT_CHANGE", name=self._context.name, reason=reason, needed=needed)


@dataclass(frozen=True, slots=True)
class ReserveIdentities:
    """Counts on by a number of values for each column, which then belong to one statement.

    `examined` has the furthest values that other writers are known to have added. `staged` is called for each attempt
    with what is before the values that it reserves, by field id; those of the last attempt are the statement's. Only
    for a catalog that compares properties: else two commits could reserve the same values.

    The commit leaves its id in the properties. Without it two reservations of the same values in the same millisecond
    would be equal byte by byte, and a writer that finds its own bytes in a folder takes them for its own commit.
    """

    needed: Mapping[int, int]
    examined: Mapping[int, int | None]
    staged: Callable[[Mapping[int, int]], None]

    def begin(self, context: CommitContext) -> _ReserveStaging:
        return _ReserveStaging(self, context.commit_id)


@dataclass(frozen=True, slots=True)
class _ReserveStaging:
    action: ReserveIdentities
    commit_id: str

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("identity columns are those of a table")
        columns, marks = live_identities(base), marks_of(base)
        needed, last = self.action.needed, dict[int, int]()
        for id in needed.keys() & columns.keys():
            known = columns[id].furthest((marks[id].value, self.action.examined.get(id)))
            last[id] = columns[id].after(known) + (needed[id] - 1) * columns[id].step
        last = {id: value for id, value in last.items() if LEAST <= value <= GREATEST}
        self.action.staged({id: value - needed[id] * columns[id].step for id, value in last.items()})
        properties = {f"{MARK_PREFIX}{id}": IdentityMark(value, marks[id].seen).encode() for id, value in last.items()}
        properties |= {f"{RESERVED_PREFIX}{id}": self.commit_id for id in last}
        updates = (SetProperties(properties),) if properties else ()
        return StagedChange(base, updates, (AssertTableUUID(base.table_uuid),))

    def finish(self, landed: Snapshot | None) -> None:
        """No files."""

    def abandon(self) -> None:
        """No files."""


@dataclass(frozen=True, slots=True)
class SyncIdentity:
    """Takes the `furthest` value of a column as given, unless the column has counted further."""

    field_id: int
    furthest: int

    def begin(self, context: CommitContext) -> SyncIdentity:
        return self

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("identity columns are those of a table")
        column, mark = live_identities(base).get(self.field_id), marks_of(base).get(self.field_id)
        requirements = (AssertTableUUID(base.table_uuid),)
        if column is None or mark is None or not column.is_further(self.furthest, mark.value):
            return StagedChange(base, (), requirements)
        return StagedChange(
            base, (SetProperties({f"{FLOOR_PREFIX}{self.field_id}": str(self.furthest)}),), requirements
        )

    def finish(self, landed: Snapshot | None) -> None:
        """No files."""

    def abandon(self) -> None:
        """No files."""
