"""Replacing the rows that match a condition: whole files where possible, other rows by position or by rewriting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlext.commit.action import CommitContext
from sqlext.commit.loop.conflict import History
from sqlext.commit.snapshot.deletion_vectors import DeletedRows
from sqlext.commit.snapshot.removal import Removal, RemoveMatching, RemoveNothing, RemovePaths
from sqlext.commit.snapshot.snapshot_production import FileChange, SnapshotProduction
from sqlext.spec.expression import AlwaysTrue, Predicate
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.metadata.table_metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class OverwriteRows:
    """Adds data files and removes the rows that match a condition.

    `row_filter` must be exactly the condition. Data files of which all rows match, by partition or metrics, are
    removed, even if added since `base_snapshot_id`: the last writer wins. Other files that may match were read at that
    snapshot. Of these, `deleted_files` hold matching rows only and are removed; `delete_files`, or `deleted_rows` from
    format version 3 on, delete rows of `referenced_data_files` by position; and `rewritten_files` are removed, their
    other rows being in `added`. Conflicts: a commit since that removed one of these, deleted rows of a rewritten file,
    or added a file of which only some rows may match.

    A commit that added rows matching `read_filter` conflicts too. Without `row_filter` all files were read, and any
    added row conflicts.
    """

    row_filter: Predicate | None
    added: Sequence[ContentFile] = ()
    deleted_files: Sequence[ContentFile] = ()
    delete_files: Sequence[ContentFile] = ()
    referenced_data_files: frozenset[str] = frozenset()
    base_snapshot_id: int | None = None
    read_filter: Predicate | None = None
    deleted_rows: Mapping[str, DeletedRows] = field(default_factory=dict)
    rewritten_files: Sequence[ContentFile] = ()

    def __post_init__(self) -> None:
        if any(file.content != Content.DATA for file in (*self.added, *self.deleted_files, *self.rewritten_files)):
            raise ValueError("added, deleted_files and rewritten_files hold data files only")
        if any(file.content == Content.DATA for file in self.delete_files):
            raise ValueError("delete_files holds a data file")

    def begin(self, context: CommitContext) -> SnapshotProduction:
        return SnapshotProduction(self, context)

    def change(self) -> FileChange:
        operation = "overwrite" if self.added else "delete"
        return FileChange(operation, (*self.added, *self.delete_files), self._removal(), self.deleted_rows)

    def validate(self, context: CommitContext, base: TableMetadata) -> None:
        history = History(context, base, self.base_snapshot_id)
        rewritten = frozenset(file.file_path for file in self.rewritten_files)
        history.require_files_remain(self.referenced_data_files | rewritten)
        history.require_no_new_deletes(rewritten, None)
        if self.row_filter is None:
            history.require_no_new_rows(AlwaysTrue())
        else:
            history.require_whole_files(self.row_filter)
        history.require_no_new_rows(self.read_filter)

    def _removal(self) -> Removal:
        paths = frozenset(file.file_path for file in (*self.deleted_files, *self.rewritten_files))
        if self.row_filter is not None:
            return RemoveMatching(self.row_filter, paths)
        return RemovePaths(paths) if paths else RemoveNothing()
