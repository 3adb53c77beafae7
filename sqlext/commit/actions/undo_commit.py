"""The commit that undoes a snapshot: it is not undone yet, and still in the branch's history, as this one lands."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.commit.action import Action, CommitContext, StagedChange, Staging
from sqlext.errors import ValidationConflict
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.snapshot_line import ancestors
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.metadata.undone_snapshot import not_undoable


@dataclass(frozen=True, slots=True)
class UndoOnce:
    """Commits `action`, which reverses the changes of a snapshot.

    Raises ValidationConflict UNDO_NOT_POSSIBLE if another commit has undone it or moved the branch.
    """

    snapshot_id: int
    action: Action

    def begin(self, context: CommitContext) -> Staging:
        return _Staging(self.snapshot_id, context, self.action.begin(context))


class _Staging:
    def __init__(self, snapshot_id: int, context: CommitContext, inner: Staging) -> None:
        self._snapshot_id = snapshot_id
        self._context = context
        self._inner = inner

    def stage(self, base: TableMetadata | None) -> StagedChange:
        if base is not None:
            history = ancestors(base, base.head(self._context.destination.branch))
            reason = not_undoable(history, self._snapshot_id)
            if reason is not None:
                name = self._context.name
                raise ValidationConflict("UNDO_NOT_POSSIBLE", snapshot=self._snapshot_id, name=name, reason=reason)
        return self._inner.stage(base)

    def finish(self, landed: Snapshot | None) -> None:
        self._inner.finish(landed)

    def abandon(self) -> None:
        self._inner.abandon()
