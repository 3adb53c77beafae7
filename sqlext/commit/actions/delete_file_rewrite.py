"""Delete files in the place of others that hit the same rows; no row of the table changes.

Equality deletes become deletes by position of the rows that they hit, and many position-delete files few.
"""

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
    """Takes out `replaced`, which hit the rows of `delete_files` or `deleted_rows` at `base_snapshot_id` (those of
    format version 2, and of later ones), and no others that are not deleted by position already.

    It conflicts with a commit since then that took out one of `referenced_data_files`, which have those rows: a
    compaction may have carried a row on to a file of the same sequence number, where only the equality delete hits it.
    Rows of other data files stay what they are wherever they are moved, and what is added meanwhile has a larger
    sequence number than any of `replaced`.
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
