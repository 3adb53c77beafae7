"""Rewriting the rows of data files into other files: compaction, and moves to another partition spec.

New files keep a sequence number of their rows, so that equality deletes of later commits still apply. Rows that others
delete while they are rewritten, by position or by keys that do not apply to the new files, are deleted in the new files
by the same commit, so that both land.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pyroaring import BitMap64

from sqlext.commit.action import CommitContext
from sqlext.commit.loop.conflict import History, by
from sqlext.commit.snapshot.deletion_vectors import DeletedRows
from sqlext.commit.snapshot.head_equality_deletes import rows_deleted_by_key
from sqlext.commit.snapshot.head_position_deletes import position_delete_index
from sqlext.commit.snapshot.snapshot_production import FileChange, SnapshotProduction
from sqlext.scan.deletes.dangling_deletes import DataAges
from sqlext.scan.deletes.delete_file_index import referenced_data_file, sequence_number
from sqlext.scan.deletes.deleted_positions import deleted_positions
from sqlext.scan.deletes.position_delete import PositionDeleteCache
from sqlext.scan.filter.file_filter import PartitionKey, partition_key
from sqlext.scan.resolved_keys import ResolvedKeys
from sqlext.spec.manifests.content_file import Content, ContentFile, ContentKey
from sqlext.spec.manifests.manifest import ManifestContent, ManifestEntry, ManifestFile
from sqlext.spec.manifests.row_origins import RowOrigins
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata

PositionDeleteWriter: TypeAlias = Callable[[Mapping[str, DeletedRows]], Sequence[ContentFile]]
"""Writes position-delete files of format version 2 for rows by path of their data file. Raises StorageError."""


@dataclass(frozen=True, slots=True)
class RewriteFiles:
    """Replaces the data files `replaced` by `added`, which hold their live rows as of `base_snapshot_id`.

    `origins`, by path of each added file, say where its rows come from. `sequence_number` becomes the data sequence
    number of `added`. Within one spec it is between the newest one of `replaced` and that of the base snapshot, whose
    deletes have been applied. For a move to another spec it must be the latter, so that older equality deletes of the
    new partition do not apply. None is that of the commit, to which no concurrent equality delete would apply; so it is
    for a move if a commit since the base has equality deletes of the new partitions, which were not meant for its rows.

    Rows of `replaced` that a commit since the base deleted by position are deleted in `added` too, by deletion vectors
    or, in format version 2, by files of `write_deletes`; and so are rows that it deleted by keys which do not apply to
    `added`, as they are of the old spec or older. Conflicts: a commit since the base that removed one of `replaced`, or
    one with such keys that cannot be looked up here (`rows_deleted_by_key`). Of the files that share rows with such a
    file, directly or through others, none is replaced and the added ones are left out; if no other files remain, the
    commit fails.

    Delete files of the partitions of the replaced files that apply to no row afterwards are removed too.
    """

    replaced: Sequence[ContentFile]
    added: Sequence[ContentFile]
    sequence_number: int | None
    base_snapshot_id: int
    origins: Mapping[str, RowOrigins]
    write_deletes: PositionDeleteWriter

    def __post_init__(self) -> None:
        if any(file.content != Content.DATA for file in (*self.replaced, *self.added)):
            raise ValueError("a rewrite replaces data files by data files")
        if not self.replaced:
            raise ValueError("a rewrite replaces nothing")
        if not self.moves and not _partitions(self.added) <= _partitions(self.replaced):
            raise ValueError("rows have come into a partition that they were not in")
        sources = {path for file in self.added for path in self.origins[file.file_path].sources}
        if not sources <= {file.file_path for file in self.replaced}:
            raise ValueError("rows come from files that are not replaced")

    @property
    def moves(self) -> bool:
        """Whether rows move to another spec."""
        return _moves((*self.replaced, *self.added))

    def begin(self, context: CommitContext) -> SnapshotProduction:
        return SnapshotProduction(_RewriteCommit(self), context)


@dataclass(frozen=True, slots=True)
class _Exchange:
    """Files that must be replaced together, since each added one has rows of several, and what replaces them."""

    replaced: tuple[ContentFile, ...]
    added: tuple[ContentFile, ...]

    @property
    def moves(self) -> bool:
        """Whether rows move to another spec."""
        return _moves((*self.replaced, *self.added))


def _exchanges(rewrite: RewriteFiles) -> list[_Exchange]:
    """The smallest sets of files that can be exchanged by themselves."""
    groups: dict[str, set[str]] = {file.file_path: {file.file_path} for file in rewrite.replaced}
    for file in rewrite.added:
        first, *others = rewrite.origins[file.file_path].sources
        for other in others:
            if groups[other] is not groups[first]:
                smaller, larger = sorted((groups[first], groups[other]), key=len)
                larger |= smaller
                groups.update(dict.fromkeys(smaller, larger))
    numbers = {id(group): number for number, group in enumerate({id(one): one for one in groups.values()}.values())}
    replaced: list[list[ContentFile]] = [[] for _ in numbers]
    added: list[list[ContentFile]] = [[] for _ in numbers]
    for file in rewrite.replaced:
        replaced[numbers[id(groups[file.file_path])]].append(file)
    for file in rewrite.added:
        added[numbers[id(groups[rewrite.origins[file.file_path].sources[0]])]].append(file)
    return [_Exchange(tuple(old), tuple(new)) for old, new in zip(replaced, added, strict=True)]


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
    """The state of the last validated base: what is exchanged, and which rows have been deleted since."""

    rewrite: RewriteFiles
    exchanges: list[_Exchange] = field(init=False)
    removal: _Removal = field(init=False)
    cache: PositionDeleteCache = field(default_factory=PositionDeleteCache)
    resolved: ResolvedKeys = field(default_factory=ResolvedKeys)
    kept: list[_Exchange] = field(init=False)
    deleted: Mapping[str, DeletedRows] = field(default_factory=dict)
    delete_files: dict[frozenset[tuple[str, bytes]], tuple[ContentFile, ...]] = field(default_factory=dict)
    new_deletes: tuple[ContentFile, ...] = ()
    sequence_number: int | None = field(init=False)

    def __post_init__(self) -> None:
        self.exchanges = _exchanges(self.rewrite)
        self.kept = self.exchanges
        self.sequence_number = self.rewrite.sequence_number
        self.removal = _Removal(frozenset(file.file_path for file in self.rewrite.replaced))

    def change(self) -> FileChange:
        kept = {file.file_path for one in self.kept for file in one.added}
        return FileChange(
            operation="replace",
            added=(*(file for file in self.rewrite.added if file.file_path in kept), *self.new_deletes),
            removal=self.removal,
            deleted_rows=self.deleted,
            data_sequence_number=self.sequence_number,
            left_out=(*(file for file in self.rewrite.added if file.file_path not in kept), *self._earlier_deletes()),
        )

    def _earlier_deletes(self) -> Iterator[ContentFile]:
        """Delete files of attempts before the last one."""
        for files in self.delete_files.values():
            yield from (file for file in files if file not in self.new_deletes)

    def validate(self, context: CommitContext, base: TableMetadata) -> None:
        history = History(context, base, self.rewrite.base_snapshot_id)
        head = base.head(context.destination.branch)
        self.sequence_number = None if self._keys_would_reach(history) else self.rewrite.sequence_number
        prevented = self._prevented(history)
        deleted = self._deleted_by_key(context, base, head, history, prevented)
        self.kept = [one for number, one in enumerate(self.exchanges) if number not in prevented]
        if not self.kept:
            raise history.stale(next(iter(prevented.values())))
        paths = frozenset(file.file_path for one in self.kept for file in one.replaced)
        self._carry_over(context, base, head, history, paths, deleted)
        self.removal = _Removal(paths)
        if head is not None:
            self.removal.dead = frozenset(self._dead(context, base, head))

    def _prevented(self, history: History) -> dict[int, str]:
        """The exchanges, by number, of which others have removed a file, each with the reason."""
        gone = history.removed_files(frozenset(file.file_path for file in self.rewrite.replaced))
        return {
            number: f"{by(gone[file.file_path])} removed the data file {file.file_path}"
            for number, exchange in enumerate(self.exchanges)
            for file in exchange.replaced
            if file.file_path in gone
        }

    def _keys_would_reach(self, history: History) -> bool:
        """Whether others have deleted by keys in partitions that rows move to, which would apply to these rows. Keys of
        all partitions apply to them as it is."""
        to = frozenset().union(*(_partitions(one.added) for one in self.exchanges if one.moves))
        return bool(to) and bool(history.new_equality_deletes(to))

    def _deleted_by_key(
        self,
        context: CommitContext,
        base: TableMetadata,
        head: Snapshot | None,
        history: History,
        prevented: dict[int, str],
    ) -> Mapping[str, BitMap64]:
        """The positions in replaced files that others have deleted by keys which do not apply to the added ones. If
        they cannot be told, the exchanges with such files are `prevented`."""
        is_new = self.sequence_number is None
        exchanges = {
            number: one
            for number, one in enumerate(self.exchanges)
            if number not in prevented and (is_new or one.moves)
        }
        old = frozenset().union(*(_partitions(one.replaced) for one in exchanges.values()))
        by_key = history.new_equality_deletes(old, of_all=is_new) if exchanges else {}
        if not by_key or head is None:
            return {}
        hit = {
            number: one
            for number, one in exchanges.items()
            if None in by_key or not by_key.keys().isdisjoint(_partitions(one.replaced))
        }
        paths = {file.file_path for one in hit.values() for file in one.replaced}
        read = base.snapshot_or_none(self.rewrite.base_snapshot_id)
        since = 0 if read is None else read.sequence_number
        found = rows_deleted_by_key(context, base, head, paths, since, self.resolved)
        if found is None:
            snapshot, path = next(iter(by_key.values()))
            reason = f"{by(snapshot)} deleted by key in the same partition ({path}), too many to look up"
            prevented.update(dict.fromkeys(hit, reason))
            return {}
        return found

    def _carry_over(
        self,
        context: CommitContext,
        base: TableMetadata,
        head: Snapshot | None,
        history: History,
        paths: frozenset[str],
        by_key: Mapping[str, BitMap64],
    ) -> None:
        """Deletes the rows of the added files that others have deleted in the replaced ones at `paths`, `by_key` or by
        position.

        All position deletes of the head are looked up, whichever commit added them: rows that were deleted before have
        not moved.
        """
        rows: dict[str, DeletedRows] = {}
        deleted = dict(by_key)
        if head is not None and history.may_have_new_position_deletes(paths):
            specs = {file.spec_id for one in self.kept for file in one.replaced}
            index = position_delete_index(context, base, head, specs)
            entries = [
                entry
                for entry in _entries(context, base, head, ManifestContent.DATA, specs)
                if entry.file.file_path in paths
            ]
            found = deleted_positions(context.io, entries, index, self.cache)
            for path, one in found.items():
                deleted[path] = deleted.get(path, BitMap64()) | one.positions()
        if deleted:
            for file in (file for one in self.kept for file in one.added):
                moved = self.rewrite.origins[file.file_path].moved(context.io.read, deleted)
                if moved:
                    rows[file.file_path] = DeletedRows(file.spec_id, file.partition, moved)
        self.deleted, self.new_deletes = rows, ()
        if rows and base.format_version < 3:
            key = frozenset((path, one.positions.serialize()) for path, one in rows.items())
            if key not in self.delete_files:
                self.delete_files[key] = tuple(self.rewrite.write_deletes(rows))
            self.deleted, self.new_deletes = {}, self.delete_files[key]

    def _dead(self, context: CommitContext, base: TableMetadata, head: Snapshot) -> Iterator[ContentKey]:
        """Delete files of the replaced files' partitions that apply to no remaining or added file."""
        left = _partitions([file for one in self.kept for file in one.replaced])
        deletes = [
            entry
            for entry in _entries(context, base, head, ManifestContent.DELETES, {spec_id for spec_id, _ in left})
            if partition_key(entry.file) in left and not entry.file.is_deletion_vector
        ]
        if not deletes:
            return
        specs = base.specs_by_id()
        ages, live = DataAges(specs), set[str]()
        spec_ids = {entry.file.spec_id for entry in deletes}
        # Equality deletes of an unpartitioned spec apply to all partitions.
        read = specs.keys() if any(specs[spec_id].is_unpartitioned for spec_id in spec_ids) else spec_ids
        for entry in _entries(context, base, head, ManifestContent.DATA, read):
            if entry.file.file_path not in self.removal.paths:
                live.add(entry.file.file_path)
                ages.add(entry.file, sequence_number(entry))
        for file in (file for one in self.kept for file in one.added):
            number = self.sequence_number
            ages.add(file, base.last_sequence_number + 1 if number is None else number)
        for entry in deletes:
            if ages.outlived(entry) or self._names_none_of(live, context, entry.file):
                yield entry.file.key

    def _names_none_of(self, live: set[str], context: CommitContext, deletes: ContentFile) -> bool:
        """Whether a file of position deletes names none of these data files. It is read only if metadata do not say."""
        if deletes.content != Content.POSITION_DELETES:
            return False
        of = referenced_data_file(deletes)
        if of is not None:
            return of not in live
        return not live or live.isdisjoint(self.cache.positions(context.io, deletes))


def _partitions(files: Collection[ContentFile]) -> frozenset[PartitionKey]:
    return frozenset(partition_key(file) for file in files)


def _moves(files: Collection[ContentFile]) -> bool:
    return len({file.spec_id for file in files}) > 1


def _entries(
    context: CommitContext, base: TableMetadata, head: Snapshot, content: ManifestContent, spec_ids: Collection[int]
) -> Iterator[ManifestEntry]:
    listed = context.manifests.manifests(context.io, head)
    wanted = [one for one in listed if one.content == content and one.spec_id in spec_ids]
    return context.manifests.live_entries_of(context.io, wanted, base)
