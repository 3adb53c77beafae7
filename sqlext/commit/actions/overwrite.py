"""Replacing data files: chosen ones (copy-on-write), those of partitions, or all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from sqlext.commit.action import CommitContext
from sqlext.commit.loop.conflict import ISOLATION_LEVELS, SERIALIZABLE, History
from sqlext.commit.loop.row_conflicts import KeyReader, RowConflicts
from sqlext.commit.snapshot.removal import Removal, RemoveAll, RemoveNothing, RemovePartitions, RemovePaths
from sqlext.commit.snapshot.snapshot_production import FileChange, SnapshotProduction
from sqlext.scan.filter.file_filter import PartitionKey, partition_key
from sqlext.spec.expression import Predicate
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.metadata.table_metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class OverwriteFiles:
    """Adds data files and removes others, in one of three ways.

    - `deleted_files`: these data files, read at `base_snapshot_id`. Conflicts: a commit since that removed one, deleted
      rows of one or, if `unique_key` gives the key's field ids, added a row with a key of `added`. With serializable
      `isolation` also one that added rows matching `read_filter` or deleted rows matching `needed_filter` (None: none).
    - `partitions`: all files of these partitions, as (spec id, partition tuple).
    - `delete_all`: all files.

    The last two read nothing, so the last writer wins, unless `read_filter` declares what they depend on.
    """

    added: Sequence[ContentFile] = ()
    deleted_files: Sequence[ContentFile] = ()
    delete_all: bool = False
    partitions: AbstractSet[tuple[int, tuple[Any, ...]]] | None = None
    base_snapshot_id: int | None = None
    read_filter: Predicate | None = None
    isolation: str = SERIALIZABLE
    unique_key: Sequence[int] = ()
    needed_filter: Predicate | None = None
    summary_properties: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.isolation not in ISOLATION_LEVELS:
            raise ValueError(f"{self.isolation!r} is no isolation level")
        if sum((bool(self.deleted_files), self.delete_all, self.partitions is not None)) > 1:
            raise ValueError("deleted_files, delete_all and partitions exclude each other")
        if any(file.content != Content.DATA for file in (*self.added, *self.deleted_files)):
            raise ValueError("an overwrite adds and names data files only")

    def begin(self, context: CommitContext) -> SnapshotProduction:
        return SnapshotProduction(self, context)

    def change(self) -> FileChange:
        properties = dict(self.summary_properties)
        if self.partitions is not None:
            properties["replace-partitions"] = "true"
        return FileChange(self._operation(), tuple(self.added), self._removal(), summary_properties=properties)

    def validate(self, context: CommitContext, base: TableMetadata) -> None:
        history = History(context, base, self.base_snapshot_id)
        paths = frozenset(file.file_path for file in self.deleted_files)
        history.require_files_remain(paths)
        history.require_no_new_deletes(paths, None)
        if self.unique_key and history.snapshots:
            contested = RowConflicts(context, base, history, KeyReader(context))
            contested.require_no_added_keys(self.added, self.unique_key, {})
        if self.isolation == SERIALIZABLE:
            history.require_no_new_rows(self.read_filter)
            history.require_no_lost_rows(self.needed_filter)

    def _removal(self) -> Removal:
        if self.delete_all:
            return RemoveAll()
        if self.partitions is not None:
            return RemovePartitions(frozenset(_key(spec_id, partition) for spec_id, partition in self.partitions))
        if self.deleted_files:
            return RemovePaths(frozenset(file.file_path for file in self.deleted_files))
        return RemoveNothing()

    def _operation(self) -> str:
        removes = bool(self.delete_all or self.deleted_files or self.partitions is not None)
        if not removes:
            return "append"
        return "overwrite" if self.added or self.partitions is not None else "delete"


def _key(spec_id: int, partition: tuple[Any, ...]) -> PartitionKey:
    return partition_key(ContentFile(Content.DATA, "", "", spec_id, partition, 0, 0))
