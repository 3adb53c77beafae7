"""The commit of an idempotent batch: rows land together with the record of the batch, and once."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.commit.action import Action, CommitContext, StagedChange, Staging
from sqlext.spec.metadata.idempotent_batch import BatchRun
from sqlext.spec.metadata.metadata_update import SetProperties
from sqlext.spec.metadata.requirement import AssertTableUUID
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class CommitOnce:
    """Commits `action`, or without one only the record of the run, if the batch has not been committed.

    Raises `BatchRanBefore` if it has: its own files are then deleted, as after any conflict.
    """

    run: BatchRun
    action: Action | None = None

    def begin(self, context: CommitContext) -> Staging:
        return _Staging(self.run, context, None if self.action is None else self.action.begin(context))


class _Staging:
    def __init__(self, run: BatchRun, context: CommitContext, inner: Staging | None) -> None:
        self._run = run
        self._name = context.name
        self._inner = inner

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is not None:
            self._run.require_first(base, self._name)
        recorded = SetProperties({self._run.batch.property_name: self._run.encode()})
        if self._inner is not None:
            change = self._inner.stage(base)
            return StagedChange(change.start, (*change.updates, recorded), change.requirements, change.snapshot)
        if base is None:
            raise ValueError("a batch is one of a table")
        return StagedChange(base, (recorded,), (AssertTableUUID(base.table_uuid),))

    def finish(self, landed: Snapshot | None) -> None:
        if self._inner is not None:
            self._inner.finish(landed)

    def abandon(self) -> None:
        if self._inner is not None:
            self._inner.abandon()
