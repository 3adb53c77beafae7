"""Moving the head of a branch to an existing snapshot: rollback, fast-forward, restore."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from sqlext.commit.action import CommitContext, StagedChange
from sqlext.errors import AnalysisError, NotFoundError
from sqlext.spec.iso_date_time import format_timestamp
from sqlext.spec.metadata.metadata_update import MetadataUpdate, SetSnapshotRef
from sqlext.spec.metadata.reference import MAIN_BRANCH, SnapshotReference
from sqlext.spec.metadata.requirement import AssertRefSnapshotId, AssertTableUUID
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.snapshot_line import ancestors
from sqlext.spec.metadata.table_metadata import TableMetadata


class Move(Protocol):
    """The new head of a branch."""

    def head(self, base: TableMetadata, branch: str, table_name: str) -> int:
        """The snapshot's id. Raises AnalysisError or NotFoundError if the move is not allowed."""


@dataclass(frozen=True, slots=True)
class SetCurrentSnapshot:
    """Any snapshot of the table. Raises NotFoundError for an unknown one."""

    snapshot_id: int

    def head(self, base: TableMetadata, branch: str, table_name: str) -> int:
        _require_snapshot(base, self.snapshot_id, table_name)
        return self.snapshot_id


@dataclass(frozen=True, slots=True)
class RollbackToSnapshot:
    """A snapshot in the branch's history. Raises NotFoundError for an unknown one, AnalysisError for another one."""

    snapshot_id: int

    def head(self, base: TableMetadata, branch: str, table_name: str) -> int:
        _require_snapshot(base, self.snapshot_id, table_name)
        if all(one.snapshot_id != self.snapshot_id for one in ancestors(base, base.head(branch))):
            raise AnalysisError("SNAPSHOT_NOT_ANCESTOR", snapshot=self.snapshot_id, ref=branch, name=table_name)
        return self.snapshot_id


@dataclass(frozen=True, slots=True)
class RollbackToTimestamp:
    """The branch's newest snapshot before a time, in milliseconds. Raises NotFoundError if there is none."""

    timestamp_ms: int

    def head(self, base: TableMetadata, branch: str, table_name: str) -> int:
        for snapshot in ancestors(base, base.head(branch)):
            if snapshot.timestamp_ms < self.timestamp_ms:
                return snapshot.snapshot_id
        moment = f"before {format_timestamp(self.timestamp_ms, 1000)} UTC"
        raise NotFoundError("SNAPSHOT_NOT_FOUND", snapshot=moment, name=table_name)


@dataclass(frozen=True, slots=True)
class FastForward:
    """The head of another branch or tag, of whose history the moved branch is part; a missing branch is created."""

    to: str

    def head(self, base: TableMetadata, branch: str, table_name: str) -> int:
        reference = base.refs.get(self.to)
        if reference is None:
            raise NotFoundError("REFERENCE_NOT_FOUND", type="branch", ref=self.to, name=table_name)
        known = base.refs.get(branch)
        behind = {one.snapshot_id for one in ancestors(base, base.snapshot(reference.snapshot_id))}
        if known is not None and known.snapshot_id not in behind:
            raise AnalysisError("NOT_FAST_FORWARD", ref=branch, to=self.to, name=table_name)
        return reference.snapshot_id


@dataclass(frozen=True, slots=True)
class MoveBranch:
    """Moves a branch; on retry the move is evaluated on the newer metadata."""

    move: Move
    branch: str = MAIN_BRANCH

    def begin(self, context: CommitContext) -> _BranchMove:
        return _BranchMove(self, context)


class _BranchMove:
    def __init__(self, action: MoveBranch, context: CommitContext) -> None:
        self._action = action
        self._context = context

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("a branch is one of a table")
        branch = self._action.branch
        known = base.refs.get(branch)
        if known is not None and known.type != "branch":
            raise AnalysisError("NOT_A_BRANCH", ref=branch, name=self._context.name)
        snapshot_id = self._action.move.head(base, branch, self._context.name)
        moved = SnapshotReference(snapshot_id) if known is None else replace(known, snapshot_id=snapshot_id)
        updates: tuple[MetadataUpdate, ...] = () if moved == known else (SetSnapshotRef(branch, moved),)
        unmoved = AssertRefSnapshotId(branch, None if known is None else known.snapshot_id)
        return StagedChange(base, updates, (AssertTableUUID(base.table_uuid), unmoved))

    def finish(self, landed: Snapshot | None) -> None:
        """No files."""

    def abandon(self) -> None:
        """No files."""


def _require_snapshot(base: TableMetadata, snapshot_id: int, table_name: str) -> None:
    if base.snapshot_or_none(snapshot_id) is None:
        raise NotFoundError("SNAPSHOT_NOT_FOUND", snapshot=snapshot_id, name=table_name)
