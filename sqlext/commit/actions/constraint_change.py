"""Changing the constraints in a table's properties."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from sqlext.commit.action import CommitContext, StagedChange
from sqlext.errors import ValidationConflict
from sqlext.spec.metadata.metadata_update import MetadataUpdate, RemoveProperties, SetProperties
from sqlext.spec.metadata.reference import MAIN_BRANCH
from sqlext.spec.metadata.requirement import AssertRefSnapshotId, AssertTableUUID
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class ChangeConstraints:
    """Sets and removes properties that are constraints.

    The rows of snapshot `checked_snapshot_id` (None: no rows) satisfy `changed`. Any later commit conflicts, as it may
    have added rows that do not.
    """

    changed: Mapping[str, str] = field(default_factory=dict)
    removed: AbstractSet[str] = frozenset()
    checked_snapshot_id: int | None = None

    def begin(self, context: CommitContext) -> _Staging:
        return _Staging(self, context.name)


@dataclass(frozen=True, slots=True)
class _Staging:
    change: ChangeConstraints
    name: str

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("a change of constraints needs a table")
        change, snapshot = self.change, base.current_snapshot()
        updates: list[MetadataUpdate] = []
        if change.changed:
            if (None if snapshot is None else snapshot.snapshot_id) != change.checked_snapshot_id:
                reason = "another commit changed the rows that were checked"
                raise ValidationConflict("CONCURRENT_CHANGE", name=self.name, reason=reason)
            updates.append(SetProperties(change.changed))
        if change.removed:
            updates.append(RemoveProperties(tuple(sorted(change.removed))))
        checked = (AssertRefSnapshotId(MAIN_BRANCH, change.checked_snapshot_id),) if change.changed else ()
        return StagedChange(base, tuple(updates), (AssertTableUUID(base.table_uuid), *checked))

    def finish(self, landed: Snapshot | None) -> None:
        """No files."""

    def abandon(self) -> None:
        """No files."""
