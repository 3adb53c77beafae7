"""The commit of a rewrite, and what of it has landed beside other commits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlext.command.change.row_level import DeletedRowsWriter, Target
from sqlext.command.compaction.rewritten_parts import Rewritten
from sqlext.command.environment import Environment
from sqlext.command.write_operation import WriteOperation
from sqlext.commit.action import Action
from sqlext.commit.actions.compaction import RewriteFiles
from sqlext.commit.actions.recorded_action import RecordedAction, Recorder
from sqlext.commit.loop.transaction import CommitOutcome
from sqlext.errors import SqlextError
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.metadata.reference import MAIN_BRANCH


@dataclass(frozen=True, slots=True)
class Landed:
    """The files that a commit has replaced and added, and how many delete files it has removed; other files it has left
    out because of concurrent commits."""

    replaced: Sequence[ContentFile]
    added: Sequence[ContentFile]
    removed_deletes: int = 0

    def has(self, files: Sequence[ContentFile]) -> bool:
        """Whether all these files are replaced."""
        return {file.file_path for file in files} <= {file.file_path for file in self.replaced}


def commit_rewrite(
    environment: Environment,
    target: Target,
    operation: WriteOperation,
    replaced: Sequence[ContentFile],
    rewritten: Rewritten,
    recorder: Recorder | None = None,
    *,
    keeps_sequence_number: bool = True,
) -> Landed:
    """Replaces files by what they were rewritten as; the recorder's record lands with it.

    Without `keeps_sequence_number` new files are as new as their commit, and conflict with concurrent equality deletes.
    Raises StaleRead if others have removed one of the files of each new file since, SqlextError INTERNAL_ERROR if rows
    are missing; the new files are gone then.
    """
    snapshot = target.version.snapshot
    assert snapshot is not None
    with operation.cleaned_on_failure():
        _require_all_rows(environment, target, replaced, rewritten.files)
        action: Action = RewriteFiles(
            replaced,
            rewritten.files,
            snapshot.sequence_number if keeps_sequence_number else None,
            snapshot.snapshot_id,
            rewritten.origins,
            DeletedRowsWriter(operation),
        )
    if recorder is not None:
        action = RecordedAction(action, recorder)
    try:
        outcome = environment.commit(target.name.catalog, target.table, action, target.destination)
    finally:
        rewritten.discard_origins(operation.io)
    return _landed(environment, target, outcome, replaced, rewritten)


def _landed(
    environment: Environment,
    target: Target,
    outcome: CommitOutcome,
    replaced: Sequence[ContentFile],
    rewritten: Rewritten,
) -> Landed:
    """What a commit has replaced. Files without a live row count only if it has replaced all files."""
    summary = {} if outcome.snapshot is None else outcome.snapshot.summary
    removed_deletes = int(summary.get("removed-delete-files", 0))
    if summary.get("deleted-data-files") == str(len(replaced)):
        return Landed(replaced, rewritten.files, removed_deletes)
    branch = None if target.destination.branch == MAIN_BRANCH else target.destination.branch
    version = environment.version(target.name.catalog, outcome.table, branch)
    left = {entry.file.file_path for entry in environment.scans.live_entries(version)}
    kept = [file for file in rewritten.files if file.file_path in left]
    sources = {path for file in kept for path in rewritten.origins[file.file_path].sources}
    return Landed([file for file in replaced if file.file_path in sources], kept, removed_deletes)


def _require_all_rows(
    environment: Environment, target: Target, files: Sequence[ContentFile], added: Sequence[ContentFile]
) -> None:
    """Checks that the new files have all live rows of the old ones, or at most all if there are equality deletes.

    Raises SqlextError INTERNAL_ERROR.
    """
    paths = {file.file_path for file in files}
    plan = environment.scans.plan(target.version, AlwaysTrue(), keep_deleted=True)
    tasks = [task for task in plan.tasks if task.file.file_path in paths]
    there = sum(task.file.record_count - task.deleted_rows for task in tasks)
    written = sum(file.record_count for file in added)
    if len(tasks) != len(paths) or written > there or (written < there and not plan.equality_groups):
        reason = f"{len(paths)} files with {there} rows became {written} rows"
        raise SqlextError("INTERNAL_ERROR", asked="compaction", reason=reason)
