"""Naming a file of statistics of a snapshot in the table's metadata (spec: Table Statistics; Partition Statistics)."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.commit.action import CommitContext, StagedChange
from sqlext.commit.snapshot.own_files import delete_files
from sqlext.errors import ValidationConflict
from sqlext.spec.metadata.metadata_update import SetPartitionStatistics, SetStatistics
from sqlext.spec.metadata.requirement import AssertTableUUID
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class SetStatisticsFile:
    """Sets the statistics or partition statistics of a snapshot; the last writer wins.

    The file is the action's own. The one that it replaces stays, since earlier versions of the table name it. Raises
    ValidationConflict if the snapshot has expired meanwhile.
    """

    update: SetStatistics | SetPartitionStatistics

    def begin(self, context: CommitContext) -> _Staging:
        return _Staging(self.update, context)


@dataclass(frozen=True, slots=True)
class _Staging:
    update: SetStatistics | SetPartitionStatistics
    context: CommitContext

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("statistics are those of a table")
        snapshot = self.update.statistics.snapshot_id
        if base.snapshot_or_none(snapshot) is None:
            reason = f"the snapshot {snapshot}, whose statistics it has, was expired"
            raise ValidationConflict("CONCURRENT_CHANGE", name=self.context.name, reason=reason)
        return StagedChange(base, (self.update,), (AssertTableUUID(base.table_uuid),))

    def finish(self, landed: Snapshot | None) -> None:
        """No attempt writes a file."""

    def abandon(self) -> None:
        delete_files(self.context.io, [self.update.statistics.location])
