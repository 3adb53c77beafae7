"""Rewriting the rows of data files into other files: compaction, and moves to another partition spec.

New files keep a sequence number of their rows, so that equality deletes of later commits still apply.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from sqlext.commit.action import CommitContext
from sqlext.commit.loop.conflict import History
from sqlext.commit.snapshot.snapshot_production import FileChange, SnapshotProduction
from sqlext.scan.deletes.delete_file_index import sequence_number
from sqlext.scan.deletes.position_delete import PositionDeleteCache
from sqlext.scan.filter.file_filter import PartitionKey, partition_key
from sqlext.spec.manifests.content_file import Content, ContentFile, ContentKey
from sqlext.spec.manifests.manifest import ManifestContent, ManifestEntry, ManifestFile
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class RewriteFiles:
    """Replaces the data files `replaced` by `added`, which hold their live rows as of `base_snapshot_id`.

    `sequence_number` becomes the data sequence number of `added`. Within one spec it is between the newest one of
    `replaced` and that of the base snapshot, whose deletes have been applied. For a move to another spec it must be the
    latter, so that older equality deletes of the new partition do not apply.

    Conflicts: a commit since the base that removed one of `replaced` or deleted rows of one by position; for a move
    also one with equality deletes of the old or new partitions, which would no longer apply or apply to more rows.

    Delete files of the partitions of `replaced` that apply to no row afterwards are removed too.
    """

    replaced: Sequence[ContentFile]
    added: Sequence[ContentFile]
    sequence_number: int
    base_snapshot_id: int

    def __post_init__(self) -> None:
        if any(file.content != Content.DATA for file in (*self.replaced, *self.added)):
            raise ValueError("a rewrite replaces data files by data files")
        if not self.replaced:
            raise ValueError("a rewrite replaces nothing")
        if not self.moves and not self._partitions(self.added) <= self._partitions(self.replaced):
            raise ValueError("rows have come into a partition that they were not in")

    @property
    def moves(self) -> bool:
        """Whether rows move to another spec."""
        return len({file.spec_id for file in (*self.replaced, *self.added)}) > 1

    @property
    def left(self) -> frozenset[PartitionKey]:
        """Partitions of the replaced files."""
        return self._partitions(self.replaced)

    @property
    def touched(self) -> frozenset[PartitionKey]:
        """Partitions of the replaced and added files."""
        return self.left | self._partitions(self.added)

    def begin(self, context: CommitContext) -> SnapshotProduction:
        return SnapshotProduction(_RewriteCommit(self), context)

    @staticmethod
    def _partitions(files: Collection[ContentFile]) -> frozenset[PartitionKey]:
        return frozenset(partition_key(file) for file in files)


@dataclass(slots=True)
class _Removal:
    """The replaced data files, and the delete files that no longer apply to any row of the staged base."""

    paths: frozenset[str]
    dead: frozenset[ContentKey] = frozenset()

    def of(self, base: TableMetadata) -> _Removal:
        return self

    def touches(self, manifest: ManifestFile) -> bool:
        return manifest.content == ManifestContent.DATA or bool(self.dead)

    def selects(self, file: ContentFile) -> bool:
        return file.file_path in self.paths if file.content == Content.DATA else file.key in self.dead

    def listed(self) -> frozenset[str] | None:
        return self.paths | frozenset(path for path, _ in self.dead)

    def missing(self, removed: Sequence[ContentFile]) -> frozenset[str]:
        return self.paths - {file.file_path for file in removed}


@dataclass(slots=True)
class _RewriteCommit:
    rewrite: RewriteFiles
    removal: _Removal = field(init=False)
    cache: PositionDeleteCache = field(default_factory=PositionDeleteCache)

    def __post_init__(self) -> None:
        self.removal = _Removal(frozenset(file.file_path for file in self.rewrite.replaced))

    def change(self) -> FileChange:
        rewrite = self.rewrite
        return FileChange(
            operation="replace",
            added=tuple(rewrite.added),
            removal=self.removal,
            data_sequence_number=rewrite.sequence_number,
        )

    def validate(self, context: CommitContext, base: TableMetadata) -> None:
        rewrite = self.rewrite
        history = History(context, base, rewrite.base_snapshot_id)
        history.require_files_remain(self.removal.paths)
        history.require_no_new_position_deletes(self.removal.paths, self.cache)
        if rewrite.moves:
            history.require_no_new_equality_deletes(rewrite.touched)
        head = base.head(context.destination.branch)
        self.removal.dead = frozenset() if head is None else frozenset(self._dead(context, base, head))

    def _dead(self, context: CommitContext, base: TableMetadata, head: Snapshot) -> Iterator[ContentKey]:
        """Delete files of the replaced files' partitions that apply to no remaining or added file."""
        left = self.rewrite.left
        deletes = [
            entry
            for entry in _entries(context, base, head, ManifestContent.DELETES, {spec_id for spec_id, _ in left})
            if partition_key(entry.file) in left and not entry.file.is_deletion_vector
        ]
        if not deletes:
            return
        specs = base.specs_by_id()
        # Equality deletes of an unpartitioned spec apply to all partitions.
        of_all = {spec_id for spec_id, spec in specs.items() if spec.is_unpartitioned}
        spec_ids = {entry.file.spec_id for entry in deletes}
        oldest: dict[PartitionKey, int] = {}
        live: set[str] = set()
        read = specs.keys() if spec_ids & of_all else spec_ids
        for entry in _entries(context, base, head, ManifestContent.DATA, read):
            if entry.file.file_path not in self.removal.paths:
                live.add(entry.file.file_path)
                _lower(oldest, partition_key(entry.file), sequence_number(entry))
        for file in self.rewrite.added:
            _lower(oldest, partition_key(file), self.rewrite.sequence_number)
        of_any = min(oldest.values(), default=None)
        for entry in deletes:
            first, number = oldest.get(partition_key(entry.file)), sequence_number(entry)
            if entry.file.content == Content.EQUALITY_DELETES:
                first = of_any if entry.file.spec_id in of_all else first
                dead = first is None or number <= first
            else:
                outlived = first is None or number < first
                dead = outlived or live.isdisjoint(self.cache.positions(context.io, entry.file))
            if dead:
                yield entry.file.key


def _entries(
    context: CommitContext, base: TableMetadata, head: Snapshot, content: ManifestContent, spec_ids: Collection[int]
) -> Iterator[ManifestEntry]:
    for manifest in context.manifests.manifests(context.io, head):
        if manifest.content == content and manifest.spec_id in spec_ids:
            yield from context.manifests.live_entries(context.io, manifest, base)


def _lower(oldest: dict[PartitionKey, int], key: PartitionKey, number: int) -> None:
    oldest[key] = min(number, oldest.get(key, number))
