"""How far the identity columns of a table have counted, which commits of new rows and SYNC IDENTITY change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlext.commit.action import Action, CommitContext, StagedChange, Staging
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.overwrite_rows import OverwriteRows
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.errors import StaleRead
from sqlext.scan.identity_bounds import furthest_of, furthest_since, live_identities, marks_of
from sqlext.spec.identity_column import FLOOR_PREFIX, MARK_PREFIX, IdentityMark
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.metadata_update import SetProperties
from sqlext.spec.metadata.requirement import AssertTableUUID
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata


def counting(action: Action, planned_on: TableMetadata, written_as: TableMetadata) -> Action:
    """`action`, together with the new state of the identity columns if its data files have values behind the state of
    `written_as`, by which they were given; that of `planned_on` is the one that must still be there."""
    columns = live_identities(planned_on)
    if not columns:
        return action
    files, marks = _data_files(action), marks_of(written_as)
    moved: dict[int, IdentityMark] = {}
    for id, column in columns.items():
        furthest = furthest_of(files, id, column)
        if furthest is not None and column.is_further(furthest, marks[id].value):
            moved[id] = IdentityMark(furthest, marks[id].seen)
    if not moved:
        return action
    return GiveIdentities(action, moved, {id: marks[id].value for id in moved}, marks_of(planned_on))


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

    Raises StaleRead, so that the statement runs again, if the state is not `expected` any more, or if another writer
    has added a value behind `given_from`: the rows may have values that others have too.
    """

    write: Action
    moved: Mapping[int, IdentityMark]
    given_from: Mapping[int, int | None]
    expected: Mapping[int, IdentityMark]

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
            if id not in columns or marks[id].value != action.expected[id].value:
                raise self._stale("another commit gave values")
            if base.last_sequence_number == mark.seen and base.format_version > 1:
                continue
            # One that is not sqlext adds values and leaves the state as it is.
            added = furthest_since(context.io, context.manifests, base, id, columns[id], mark.seen)
            if added is not None and columns[id].is_further(added, action.given_from[id]):
                raise self._stale("another commit added values")

    def _stale(self, what: str) -> StaleRead:
        reason = f"{what} to an identity column"
        return StaleRead("CONCURRENT_CHANGE", name=self._context.name, reason=reason)


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
