"""Replacing the rows that a condition selects: whole files where that is possible, else row by row."""

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
    """Adds data files and removes the rows that a condition selects.

    With `row_filter`, which must say exactly what the condition does, data files go of which partition or metrics say
    that all rows match, whoever added them: the last writer wins. All others that may match were read at
    `base_snapshot_id`: of them `deleted_files` hold such rows only and go too, while `delete_files`, or from format
    version 3 on `deleted_rows`, delete the rows of `referenced_data_files` by position. `rewritten_files` go as well,
    and `added` has their other rows. It conflicts with a commit since then that removed one of those, that deleted rows
    of a rewritten one, or that added a file of which only some rows may match.

    `read_filter` selects rows that the added ones depend on: a commit that adds one of them is a conflict as well.
    Without `row_filter` every file was read, and any new row is a conflict.
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
