"""Row-level changes: new rows and deletes in one snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from sqlext.commit.action import CommitContext
from sqlext.commit.loop.conflict import ISOLATION_LEVELS, SERIALIZABLE, History
from sqlext.commit.loop.row_conflicts import KeyReader, RowConflicts
from sqlext.commit.snapshot.deletion_vectors import DeletedRows
from sqlext.commit.snapshot.removal import Removal, RemoveDeleteFiles, RemoveNothing, RemovePaths
from sqlext.commit.snapshot.snapshot_production import FileChange, SnapshotProduction
from sqlext.spec.expression import Predicate
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.schema import Schema


@dataclass(frozen=True, slots=True)
class RowDelta:
    """Adds data files and deletes, with the read set of the statement at `base_snapshot_id`.

    Position deletes are `deleted_rows`, by data file; in format version 2 position-delete files in `delete_files` hold
    them too. `referenced_data_files` are the data files with deleted rows. Data files that lose all rows are in
    `deleted_files`, with their rows in `deleted_rows`, and are removed.

    Conflicts at both isolation levels: a commit since the base that

    - removed one of `referenced_data_files`;
    - deleted or replaced one of `deleted_rows`, unless both commits only delete. Of referenced files without
      `deleted_rows` all rows count that may match `read_filter`, if this commit adds rows;
    - added a row with a key of `data_files`, if `unique_key` gives the key's field ids;
    - added data files of another spec, to which the equality deletes do not apply, and which may have their keys.

    With serializable `isolation` also one that added rows which may match `read_filter`, or deleted rows which may
    match `needed_filter`. None: no such rows; for all rows pass `AlwaysTrue()`. The filters use the field ids of the
    schema that the commit was planned on.
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
    unique_key: Sequence[int] = ()
    needed_filter: Predicate | None = None
    deleted_files: Sequence[ContentFile] = ()

    def __post_init__(self) -> None:
        if self.isolation not in ISOLATION_LEVELS:
            raise ValueError(f"{self.isolation!r} is no isolation level")
        if any(file.content != Content.DATA for file in (*self.data_files, *self.deleted_files)):
            raise ValueError("data_files and deleted_files hold data files only")
        if self.deleted_files and self.removed_delete_files:
            raise ValueError("deleted_files and removed_delete_files exclude each other")
        if not {file.file_path for file in self.deleted_files} <= self.deleted_rows.keys():
            raise ValueError("the rows of deleted_files are not told")
        if any(file.content == Content.DATA for file in (*self.delete_files, *self.removed_delete_files)):
            raise ValueError("delete_files holds a data file")

    def begin(self, context: CommitContext) -> SnapshotProduction:
        read_schema = None if context.planned_on is None else context.planned_on.schema()
        return SnapshotProduction(_RowDeltaCommit(self, KeyReader(context), read_schema), context)

    def operation(self) -> str:
        """The snapshot's operation: append, overwrite or delete."""
        deletes = bool(self.delete_files or self.deleted_rows or self.deleted_files)
        if not (deletes or self.removed_delete_files):
            return "append"
        return "overwrite" if self.data_files or not deletes else "delete"


@dataclass(slots=True)
class _RowDeltaCommit:
    delta: RowDelta
    keys: KeyReader
    read_schema: Schema | None = None

    def change(self) -> FileChange:
        delta = self.delta
        in_files = any(file.content == Content.POSITION_DELETES for file in delta.delete_files)
        return FileChange(
            operation=delta.operation(),
            added=(*delta.data_files, *delta.delete_files),
            removal=self._removal(),
            deleted_rows={} if in_files else {path: delta.deleted_rows[path] for path in self._marked()},
            summary_properties=delta.summary_properties,
        )

    def _removal(self) -> Removal:
        if self.delta.deleted_files:
            return RemovePaths(frozenset(file.file_path for file in self.delta.deleted_files))
        removed = frozenset(file.key for file in self.delta.removed_delete_files)
        return RemoveDeleteFiles(removed) if removed else RemoveNothing()

    def _marked(self) -> AbstractSet[str]:
        """Data files with rows that are deleted by position."""
        return self.delta.deleted_rows.keys() - {file.file_path for file in self.delta.deleted_files}

    def validate(self, context: CommitContext, base: TableMetadata) -> None:
        delta = self.delta
        self.read_schema = self.read_schema or base.schema()
        history = History(context, base, delta.base_snapshot_id, self.read_schema)
        if not history.snapshots:
            return
        contested = RowConflicts(context, base, history, self.keys)
        history.require_files_remain(delta.referenced_data_files)
        contested.require_no_changed_rows(delta.deleted_rows, adds_rows=bool(delta.data_files))
        if delta.data_files:
            unknown = delta.referenced_data_files - delta.deleted_rows.keys()
            history.require_no_new_deletes(unknown, delta.read_filter)
        if delta.unique_key:
            contested.require_no_added_keys(delta.data_files, delta.unique_key, delta.deleted_rows)
        contested.require_equality_deletes_apply(
            [file for file in delta.delete_files if file.content == Content.EQUALITY_DELETES]
        )
        if delta.isolation == SERIALIZABLE:
            history.require_no_new_rows(delta.read_filter)
            history.require_no_lost_rows(delta.needed_filter)
