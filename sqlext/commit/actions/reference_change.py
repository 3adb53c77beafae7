"""Creating, replacing and dropping branches and tags (spec: Snapshot References)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from sqlext.commit.action import CommitContext, StagedChange
from sqlext.errors import AlreadyExistsError, AnalysisError, NotFoundError
from sqlext.spec.metadata.metadata_update import MetadataUpdate, RemoveSnapshotRef, SetSnapshotRef
from sqlext.spec.metadata.reference import MAIN_BRANCH, SnapshotReference
from sqlext.spec.metadata.requirement import AssertRefSnapshotId, AssertTableUUID, Requirement
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata

ReferenceType = Literal["branch", "tag"]


@dataclass(frozen=True, slots=True)
class Retention:
    """Retention of a reference and its snapshots; ages in milliseconds, None: the table's default."""

    max_ref_age_ms: int | None = None
    min_snapshots_to_keep: int | None = None
    max_snapshot_age_ms: int | None = None

    def applied_to(self, reference: SnapshotReference) -> SnapshotReference:
        """`reference` with the settings that are not None."""
        return replace(
            reference,
            max_ref_age_ms=_or(self.max_ref_age_ms, reference.max_ref_age_ms),
            min_snapshots_to_keep=_or(self.min_snapshots_to_keep, reference.min_snapshots_to_keep),
            max_snapshot_age_ms=_or(self.max_snapshot_age_ms, reference.max_snapshot_age_ms),
        )


@dataclass(frozen=True, slots=True)
class CreateReference:
    """Creates a branch or tag at a snapshot (None: the head of main).

    Raises AlreadyExistsError for an existing name, unless `or_replace` or `must_exist` moves it, keeping its other
    settings, or `if_not_exists` leaves it as it is. With `must_exist` a missing one raises NotFoundError.
    """

    name: str
    type: ReferenceType
    snapshot_id: int | None = None
    or_replace: bool = False
    must_exist: bool = False
    if_not_exists: bool = False
    retention: Retention = Retention()

    def begin(self, context: CommitContext) -> _ReferenceStaging:
        return _ReferenceStaging(self, context)

    def updates(self, base: TableMetadata, table_name: str) -> tuple[MetadataUpdate, ...]:
        """Empty if nothing changes. Raises NotFoundError, AlreadyExistsError or AnalysisError."""
        known = base.refs.get(self.name)
        if known is None and self.must_exist:
            raise _missing(self.type, self.name, table_name)
        if known is not None and self.if_not_exists:
            return ()
        if known is not None and not (self.or_replace or self.must_exist):
            raise AlreadyExistsError("REFERENCE_ALREADY_EXISTS", type=self.type, ref=self.name, name=table_name)
        if known is not None:
            _require_type(known, self.type, self.name, table_name)
        snapshot_id = self._snapshot_id(base, table_name)
        reference = replace(known or SnapshotReference(snapshot_id, self.type), snapshot_id=snapshot_id)
        changed = self.retention.applied_to(reference)
        return () if changed == known else (SetSnapshotRef(self.name, changed),)

    def _snapshot_id(self, base: TableMetadata, table_name: str) -> int:
        wanted = base.current_snapshot_id if self.snapshot_id is None else self.snapshot_id
        if wanted is None:
            raise NotFoundError("TABLE_HAS_NO_SNAPSHOT", name=table_name, what=f"{self.type} {self.name}")
        if base.snapshot_or_none(wanted) is None:
            raise NotFoundError("SNAPSHOT_NOT_FOUND", snapshot=wanted, name=table_name)
        return wanted


@dataclass(frozen=True, slots=True)
class DropReference:
    """Drops a branch or tag, but no snapshot. Raises NotFoundError for a missing one, unless `if_exists`."""

    name: str
    type: ReferenceType
    if_exists: bool = False

    def begin(self, context: CommitContext) -> _ReferenceStaging:
        return _ReferenceStaging(self, context)

    def updates(self, base: TableMetadata, table_name: str) -> tuple[MetadataUpdate, ...]:
        """Empty if the reference is missing and `if_exists`. Raises NotFoundError or AnalysisError."""
        if self.name == MAIN_BRANCH:
            raise AnalysisError("MAIN_BRANCH_STAYS", name=table_name)
        known = base.refs.get(self.name)
        if known is None:
            if self.if_exists:
                return ()
            raise _missing(self.type, self.name, table_name)
        _require_type(known, self.type, self.name, table_name)
        return (RemoveSnapshotRef(self.name),)


class _ReferenceStaging:
    """One change of one reference, which no other commit may move concurrently."""

    def __init__(self, action: CreateReference | DropReference, context: CommitContext) -> None:
        self._action = action
        self._context = context

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is None:
            raise ValueError("a reference is one of a table")
        known = base.refs.get(self._action.name)
        requirements: tuple[Requirement, ...] = (
            AssertTableUUID(base.table_uuid),
            AssertRefSnapshotId(self._action.name, None if known is None else known.snapshot_id),
        )
        return StagedChange(base, self._action.updates(base, self._context.name), requirements)

    def finish(self, landed: Snapshot | None) -> None:
        """No files."""

    def abandon(self) -> None:
        """No files."""


def _or(given: int | None, known: int | None) -> int | None:
    return known if given is None else given


def _missing(kind: ReferenceType, ref: str, table_name: str) -> NotFoundError:
    return NotFoundError("REFERENCE_NOT_FOUND", type=kind, ref=ref, name=table_name)


def _require_type(known: SnapshotReference, wanted: ReferenceType, ref: str, table_name: str) -> None:
    if known.type != wanted:
        raise AnalysisError("WRONG_REFERENCE_TYPE", ref=ref, name=table_name, type=known.type, wanted=wanted)
