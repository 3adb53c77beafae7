"""Replacing delete files by others that delete the same rows: equality deletes by position deletes, many by few."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlext.commit.action import CommitContext
from sqlext.commit.loop.conflict import History
from sqlext.commit.snapshot.deletion_vectors import DeletedRows
from sqlext.commit.snapshot.removal import RemoveDeleteFiles
from sqlext.commit.snapshot.snapshot_production import FileChange, SnapshotProduction
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.metadata.table_metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class RewriteDeleteFiles:
    """Removes the delete files `replaced`. All rows that they delete at `base_snapshot_id` are deleted by
    `delete_files` (format version 2) or `deleted_rows` (3), or by position deletes that remain.

    A commit since the base conflicts if it removed one of `referenced_data_files`, which hold these rows: a compaction
    may have moved a row to a file of the same sequence number, to which only the equality delete applies. Other
    compactions move no deleted rows, and data added since has a larger sequence number than `replaced`.
    """

    replaced: Sequence[ContentFile]
    base_snapshot_id: int
    delete_files: Sequence[ContentFile] = ()
    deleted_rows: Mapping[str, DeletedRows] = field(default_factory=dict)
    referenced_data_files: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if any(file.content == Content.DATA for file in self.replaced):
            raise ValueError("replaced holds a data file")

    def begin(self, context: CommitContext) -> SnapshotProduction:
        return SnapshotProduction(self, context)

    def change(self) -> FileChange:
        return FileChange(
            operation="replace",
            added=tuple(self.delete_files),
            removal=RemoveDeleteFiles(frozenset(file.key for file in self.replaced)),
            deleted_rows=self.deleted_rows,
        )

    def validate(self, context: CommitContext, base: TableMetadata) -> None:
        history = History(context, base, self.base_snapshot_id)
        history.require_descent()
        history.require_files_remain(self.referenced_data_files)
