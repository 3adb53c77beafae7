"""Whether other commits since a snapshot changed what a statement read (spec: Commit Conflict Resolution and Retry)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Set
from functools import cached_property
from itertools import chain, takewhile

from sqlext.commit.action import CommitContext
from sqlext.errors import Contender, StaleRead, ValidationConflict
from sqlext.scan.deletes.position_delete import FILE_PATH_ID
from sqlext.scan.filter.file_filter import FileFilter, PartitionKey, partition_key
from sqlext.spec.expression import AlwaysTrue, Predicate, referenced_field_ids
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import EntryStatus, ManifestContent, ManifestEntry
from sqlext.spec.metadata.contender import contender_of
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.schema import Schema

SERIALIZABLE = "serializable"
SNAPSHOT = "snapshot"
ISOLATION_LEVELS = frozenset({SERIALIZABLE, SNAPSHOT})


class History:
    """The snapshots after `since`, which a statement read, up to the head of the commit's branch."""

    def __init__(
        self, context: CommitContext, metadata: TableMetadata, since: int | None, read_schema: Schema | None = None
    ) -> None:
        """`since` None: the branch had no snapshot. Filters use the field ids of `read_schema`, by default the current
        one.

        Each method raises `ValidationConflict` if the head does not descend from `since` or snapshots between have
        expired.
        """
        self._context = context
        self._metadata = metadata
        self._since = since
        self._read_schema = read_schema

    def require_descent(self) -> None:
        """Raises `ValidationConflict` if the branch's head does not descend from `since`."""
        _ = self.snapshots

    def require_files_remain(self, paths: frozenset[str]) -> None:
        """Raises `StaleRead` if another commit removed one of these data files."""
        gone = self.removed_files(paths)
        for path, snapshot in gone.items():
            together = (other for other, at in gone.items() if at.snapshot_id == snapshot.snapshot_id)
            raise self.stale(f"{by(snapshot)} removed the data file {path}", self.contender(snapshot, together))

    def removed_files(self, paths: Set[str]) -> Mapping[str, Snapshot]:
        """Those of these data files that another commit removed, each with the snapshot."""
        if not paths:
            return {}
        return {
            entry.file.file_path: snapshot
            for snapshot, entry in self.changes(ManifestContent.DATA, EntryStatus.DELETED)
            if entry.file.file_path in paths
        }

    def require_no_new_deletes(self, paths: frozenset[str], read_filter: Predicate | None) -> None:
        """Raises `StaleRead` if another commit added a delete file that may apply to these data files.

        Only rows that may match `read_filter` count; None: all rows.
        """
        if not paths:
            return
        touched = _TouchedPaths(paths)
        may_match = self._file_filter(AlwaysTrue() if read_filter is None else read_filter)
        deletes = self.changes(ManifestContent.DELETES, EntryStatus.ADDED)
        contending = (one for one in deletes if touched.by(one[1].file) and may_match.file_may_match(one[1].file))
        self._refuse(contending, "deleted rows of the same data files")

    def may_have_new_position_deletes(self, paths: frozenset[str]) -> bool:
        """Whether another commit may have deleted rows of these data files by position, by the metrics of delete
        files."""
        touched = _TouchedPaths(paths)
        return any(
            entry.file.content == Content.POSITION_DELETES and touched.by(entry.file)
            for _, entry in self.changes(ManifestContent.DELETES, EntryStatus.ADDED)
        )

    def new_equality_deletes(
        self, partitions: Set[PartitionKey], *, of_all: bool = False
    ) -> Mapping[PartitionKey | None, tuple[Snapshot, str]]:
        """Those of these partitions in which another commit added an equality delete, each with the snapshot and the
        delete file's path; with `of_all`, None is for deletes that apply to all partitions."""
        specs = self._metadata.specs_by_id()
        found: dict[PartitionKey | None, tuple[Snapshot, str]] = {}
        for snapshot, entry in self.changes(ManifestContent.DELETES, EntryStatus.ADDED):
            file, is_global = entry.file, specs[entry.file.spec_id].is_unpartitioned
            if file.content == Content.EQUALITY_DELETES:
                if not is_global and partition_key(file) in partitions:
                    found[partition_key(file)] = snapshot, file.file_path
                elif is_global and of_all:
                    found[None] = snapshot, file.file_path
        return found

    def require_no_new_rows(self, read_filter: Predicate | None) -> None:
        """Raises `StaleRead` if another commit added rows that may match the filter; None: no row was read."""
        if read_filter is None:
            return
        may_match = self._file_filter(read_filter)
        added = self.changes(ManifestContent.DATA, EntryStatus.ADDED, rewrites=False)
        self._refuse(
            (one for one in added if may_match.file_may_match(one[1].file)), "added rows that it would have read"
        )

    def require_no_lost_rows(self, read_filter: Predicate | None) -> None:
        """Raises `StaleRead` if another commit, not a compaction, deleted rows that may match; None: no row was
        read."""
        if read_filter is None:
            return
        may_match = self._file_filter(read_filter)
        removed = self.changes(ManifestContent.DATA, EntryStatus.DELETED, rewrites=False)
        deleted = self.changes(ManifestContent.DELETES, EntryStatus.ADDED, rewrites=False)
        changed = chain(removed, deleted)
        self._refuse((one for one in changed if may_match.file_may_match(one[1].file)), "deleted rows that it had read")

    def require_whole_files(self, row_filter: Predicate) -> None:
        """Raises `StaleRead` if another commit added a data file of which possibly only some rows match."""
        files = self._file_filter(row_filter)
        added = self.changes(ManifestContent.DATA, EntryStatus.ADDED)
        partly = (one for one in added if files.file_may_match(one[1].file) and not files.file_must_match(one[1].file))
        self._refuse(partly, "added rows that it may have to replace")

    def require_partitions_untouched(self, partitions: Set[PartitionKey]) -> None:
        """Raises `ValidationConflict` if another commit added files to one of these partitions."""
        for content in ManifestContent:
            for snapshot, entry in self.changes(content, EntryStatus.ADDED):
                if partition_key(entry.file) in partitions:
                    contender = self.contender(snapshot, [entry.file.file_path])
                    raise self.conflict(
                        f"{by(snapshot)} changed the same partition ({entry.file.file_path})", contender
                    )

    def changes(
        self, content: ManifestContent, status: EntryStatus, *, rewrites: bool = True
    ) -> Iterator[tuple[Snapshot, ManifestEntry]]:
        """Manifest entries of the snapshots with this content and status; without `rewrites`, compactions are
        skipped."""
        for snapshot in self.snapshots:
            if rewrites or not is_rewrite(snapshot):
                for entry in self.changes_of(snapshot, content, status):
                    yield snapshot, entry

    def changes_of(self, snapshot: Snapshot, content: ManifestContent, status: EntryStatus) -> Iterator[ManifestEntry]:
        """Manifest entries of one snapshot with this content and status."""
        io, manifests = self._context.io, self._context.manifests
        for manifest in manifests.manifests(io, snapshot):
            if manifest.content == content and manifest.added_snapshot_id == snapshot.snapshot_id:
                for entry in manifests.entries(io, manifest, self._metadata):
                    if entry.status == status and entry.snapshot_id == snapshot.snapshot_id:
                        yield entry

    @cached_property
    def snapshots(self) -> tuple[Snapshot, ...]:
        """The snapshots, newest first."""
        found = []
        snapshot = self._metadata.head(self._context.destination.branch)
        while snapshot is not None and snapshot.snapshot_id != self._since:
            found.append(snapshot)
            parent = snapshot.parent_snapshot_id
            snapshot = None if parent is None else self._metadata.snapshot_or_none(parent)
            if snapshot is None and parent is not None:
                raise self.conflict(f"the history back to the snapshot it read is gone (expired: {parent})")
        if snapshot is None and self._since is not None:
            raise self.conflict(f"the snapshot it read, {self._since}, was rolled back or replaced")
        return tuple(found)

    def _file_filter(self, predicate: Predicate) -> FileFilter:
        schema = self._metadata.schema()
        known = self._read_schema or schema
        if any(known.field_or_none(id) != schema.field_or_none(id) for id in referenced_field_ids(predicate)):
            # Literals may mean something else for a changed column, so no file is excluded.
            predicate = AlwaysTrue()
        return FileFilter(predicate, schema=schema, specs=self._metadata.specs_by_id())

    def _refuse(self, contending: Iterator[tuple[Snapshot, ManifestEntry]], did: str) -> None:
        """Raises `StaleRead` for the first of these changes, with the files of its snapshot that follow."""
        first = next(contending, None)
        if first is None:
            return
        snapshot, path = first[0], first[1].file.file_path
        more = takewhile(lambda one: one[0].snapshot_id == snapshot.snapshot_id, contending)
        files = chain([path], (entry.file.file_path for _, entry in more))
        raise self.stale(f"{by(snapshot)} {did} ({path})", self.contender(snapshot, files))

    def contender(self, snapshot: Snapshot, files: Iterable[str] = (), keys: Iterable[str] = ()) -> Contender:
        """The snapshot as what is in the way of a commit that read `since`."""
        return contender_of(snapshot, self._since, files, keys)

    def conflict(self, reason: str, contender: Contender | None = None) -> ValidationConflict:
        """The error with this reason."""
        return ValidationConflict("CONCURRENT_CHANGE", name=self._context.name, reason=reason, contender=contender)

    def stale(self, reason: str, contender: Contender | None = None) -> StaleRead:
        """The error for a change of what was read."""
        return StaleRead("CONCURRENT_CHANGE", name=self._context.name, reason=reason, contender=contender)


def is_rewrite(snapshot: Snapshot) -> bool:
    """Whether a snapshot changes files but no rows: a compaction."""
    return snapshot.operation == "replace"


def by(snapshot: Snapshot) -> str:
    """The snapshot's commit, for messages."""
    return f"another commit (snapshot {snapshot.snapshot_id}, {snapshot.operation})"


class _TouchedPaths:
    """Which delete files may apply to the data files `paths`, by the delete files' own metrics."""

    def __init__(self, paths: frozenset[str]) -> None:
        self._paths = paths
        self._sorted = sorted(path.encode("utf-8") for path in paths)

    def by(self, delete_file: ContentFile) -> bool:
        if delete_file.content == Content.EQUALITY_DELETES:
            return True
        if delete_file.referenced_data_file is not None:
            return delete_file.referenced_data_file in self._paths
        # UTF-8 sorts by code point, and truncated bounds only widen the range.
        lower = (delete_file.lower_bounds or {}).get(FILE_PATH_ID, b"")
        upper = (delete_file.upper_bounds or {}).get(FILE_PATH_ID)
        position = bisect_left(self._sorted, lower)
        return position < len(self._sorted) and (upper is None or self._sorted[position] <= upper)
