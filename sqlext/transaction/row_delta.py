"""Row-level changes: new rows and delete files in one snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlext.spec.content_file import Content, ContentFile
from sqlext.spec.expression import Predicate
from sqlext.spec.table_metadata import TableMetadata
from sqlext.transaction.action import CommitContext
from sqlext.transaction.conflict import ISOLATION_LEVELS, SERIALIZABLE, History
from sqlext.transaction.deletion_vectors import DeletedRows
from sqlext.transaction.removal import RemoveDeleteFiles, RemoveNothing
from sqlext.transaction.snapshot_production import FileChange, SnapshotProduction


@dataclass(frozen=True, slots=True)
class RowDelta:
    """Adds data files and deletes, and says what it read of the table at `base_snapshot_id`.

    It conflicts with a commit since then that removed one of `referenced_data_files`, whose rows it deletes by
    position; that deleted rows of one, if this adds rows (an update of a row that is gone would bring it back); and,
    when `isolation` is serializable, that added rows which `read_filter` may select. `read_filter` None: it read no
    rows, as an upsert by equality deletes. Where all rows were read, pass `AlwaysTrue()`.

    Deletes by position are `delete_files` in format version 2 and `deleted_rows`, by data file, from version 3 on.
    """

    data_files: Sequence[ContentFile] = ()
    delete_files: Sequence[ContentFile] = ()
    referenced_data_files: frozenset[str] = frozenset()
    removed_delete_files: Sequence[ContentFile] = ()
    base_snapshot_id: int | None = None
    read_filter: Predicate | None = None
    isolation: str = SERIALIZABLE
    summary_properties: Mapping[str, str] = field(default_factory=dict)
    deleted_rows: Mapping[str, DeletedRows] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.isolation not in ISOLATION_LEVELS:
            raise ValueError(f"{self.isolation!r} is no isolation level")
        if any(file.content != Content.DATA for file in self.data_files):
            raise ValueError("data_files holds a delete file")
        if any(file.content == Content.DATA for file in (*self.delete_files, *self.removed_delete_files)):
            raise ValueError("delete_files holds a data file")

    def begin(self, context: CommitContext) -> SnapshotProduction:
        return SnapshotProduction(self, context)

    def change(self) -> FileChange:
        removed = frozenset(file.key for file in self.removed_delete_files)
        return FileChange(
            operation=self._operation(),
            added=(*self.data_files, *self.delete_files),
            removal=RemoveDeleteFiles(removed) if removed else RemoveNothing(),
            deleted_rows=self.deleted_rows,
            summary_properties=self.summary_properties,
        )

    def validate(self, context: CommitContext, base: TableMetadata) -> None:
        history = History(context, base, self.base_snapshot_id)
        history.require_files_remain(self.referenced_data_files)
        if self.data_files:
            history.require_no_new_deletes(self.referenced_data_files, self.read_filter)
        if self.isolation == SERIALIZABLE:
            history.require_no_new_rows(self.read_filter)

    def _operation(self) -> str:
        deletes = bool(self.delete_files or self.deleted_rows)
        if not (deletes or self.removed_delete_files):
            return "append"
        return "overwrite" if self.data_files or not deletes else "delete"
