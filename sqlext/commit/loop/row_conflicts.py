"""Conflicts between single rows, by position and by key: concurrent changes of other rows of a file are none.

A row that a commit deletes or replaces must not have been changed by another commit since it was read, and a key that
it adds must not have been added by another commit. Where metadata cannot decide, deletion vectors, position-delete
files and the key columns of data files are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyroaring import BitMap64

from sqlext.commit.action import CommitContext
from sqlext.commit.loop.conflict import History, by, is_rewrite
from sqlext.commit.snapshot.deletion_vectors import DeletedRows
from sqlext.commit.snapshot.head_position_deletes import position_delete_index
from sqlext.errors import ValidationConflict
from sqlext.scan.deletes.deleted_positions import deleted_positions
from sqlext.scan.deletes.position_delete import PositionDeleteCache
from sqlext.scan.filter.file_filter import partition_key
from sqlext.scan.filter.measured_column import metrics_columns
from sqlext.scan.filter.value_range import metrics_range
from sqlext.scan.key_values import POSITION, key_values, shared_keys
from sqlext.spec.field_path import path_text
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.manifest import EntryStatus, ManifestContent, ManifestEntry
from sqlext.spec.metadata.contender import MOST_LISTED
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata

_NAMED_ROWS = 5
_MOST_BYTES = 256 * 1024 * 1024
_VALUE_BYTES = 8


@dataclass(slots=True)
class KeyReader:
    """Key columns of data files by path; each is read once per commit, not per attempt."""

    context: CommitContext
    _read: dict[tuple[str, tuple[int, ...]], pa.Table | None] = field(default_factory=dict)

    def keys(self, file: ContentFile, field_ids: Sequence[int]) -> pa.Table | None:
        """The file's `key_values`; None also if they would exceed `_MOST_BYTES`."""
        known = file.file_path, tuple(field_ids)
        if known not in self._read:
            small = file.record_count * len(field_ids) * _VALUE_BYTES <= _MOST_BYTES
            self._read[known] = key_values(self.context.io, file, field_ids) if small else None
        return self._read[known]


class RowConflicts:
    """Conflicts of one commit with the rows that the commits in `history` changed."""

    def __init__(self, context: CommitContext, base: TableMetadata, history: History, keys: KeyReader) -> None:
        self._context = context
        self._base = base
        self._history = history
        self._keys = keys
        self._cache = PositionDeleteCache()

    def require_no_changed_rows(self, deleted: Mapping[str, DeletedRows], *, adds_rows: bool) -> None:
        """Raises WRITE_CONFLICT if another commit deleted or replaced one of the `deleted` rows.

        Two commits that both add no rows do not conflict: in either order the row is deleted.
        """
        if not deleted:
            return
        for snapshot in self._history.snapshots:
            if not adds_rows and not self._adds_rows(snapshot):
                continue
            for entry in self._history.changes_of(snapshot, ManifestContent.DELETES, EntryStatus.ADDED):
                for path, positions in self._hit(entry.file, deleted):
                    raise self._contested_positions(snapshot, entry.file, path, positions, deleted[path])

    def require_no_added_keys(
        self, added: Sequence[ContentFile], field_ids: Sequence[int], own: Mapping[str, DeletedRows]
    ) -> None:
        """Raises WRITE_CONFLICT if a row that another commit added has a key of one of the `added` files. The rows
        `own`, which this commit deletes, do not count."""
        for snapshot, entry in self._fresh_files():
            mine = [file for file in added if self._may_share_key(file, entry.file, field_ids)]
            if not mine:
                continue
            theirs = self._keys.keys(entry.file, field_ids)
            for file in mine:
                keys = self._keys.keys(file, field_ids)
                shared = None if theirs is None or keys is None else shared_keys(theirs, keys)
                path = entry.file.file_path
                if shared is None:
                    raise self._contested(snapshot, f"perhaps rows of the same keys, in {path}", [path])
                if shared.num_rows and (live := self._live(entry, shared, own)).num_rows:
                    raise self._contested_keys(snapshot, [path], live, field_ids)

    def require_equality_deletes_apply(self, equality_deletes: Sequence[ContentFile]) -> None:
        """Raises `StaleRead` if another commit added a data file of another spec that may have a key of
        `equality_deletes`. An equality delete of a partitioned spec applies to its own partition only (spec: Scan
        Planning)."""
        specs = self._base.specs_by_id()
        bound = [file for file in equality_deletes if not specs[file.spec_id].is_unpartitioned]
        if not bound:
            return
        for snapshot, entry in self._history.changes(ManifestContent.DATA, EntryStatus.ADDED):
            for file in bound:
                if entry.file.spec_id != file.spec_id and self._may_share_key(
                    file, entry.file, file.equality_ids or ()
                ):
                    reason = f"{by(snapshot)} added rows in another partitioning ({entry.file.file_path})"
                    raise self._history.stale(reason, self._history.contender(snapshot, [entry.file.file_path]))

    # by position

    def _hit(self, file: ContentFile, deleted: Mapping[str, DeletedRows]) -> Iterator[tuple[str, BitMap64]]:
        """Positions of the `deleted` rows that the delete file deletes too, by data file."""
        if file.content == Content.EQUALITY_DELETES:
            yield from self._hit_by_key(file, deleted)
        elif file.is_deletion_vector:
            path = file.referenced_data_file
            if path is not None and path in deleted:
                yield from _common(path, deleted, self._cache.vector(self._context.io, file).positions())
        elif file.referenced_data_file is None or file.referenced_data_file in deleted:
            for path, positions in self._cache.positions(self._context.io, file).items():
                if path in deleted:
                    yield from _common(path, deleted, positions)

    def _hit_by_key(self, file: ContentFile, deleted: Mapping[str, DeletedRows]) -> Iterator[tuple[str, BitMap64]]:
        ids = file.equality_ids or ()
        is_global = self._base.specs_by_id()[file.spec_id].is_unpartitioned
        keys: pa.Table | None = None
        for path, rows in deleted.items():
            data_file = rows.data_file(path)
            if not is_global and partition_key(data_file) != partition_key(file):
                continue
            keys = self._keys.keys(file, ids) if keys is None else keys
            stored = None if keys is None else key_values(self._context.io, data_file, ids, rows.positions)
            shared = None if keys is None or stored is None else shared_keys(stored, keys)
            if shared is None:
                yield path, rows.positions
            elif shared.num_rows:
                yield path, BitMap64(shared.column(POSITION).to_pylist())

    def _adds_rows(self, snapshot: Snapshot) -> bool:
        added = self._history.changes_of(snapshot, ManifestContent.DATA, EntryStatus.ADDED)
        return not is_rewrite(snapshot) and next(added, None) is not None

    # by key

    def _fresh_files(self) -> list[tuple[Snapshot, ManifestEntry]]:
        """Live data files with rows added since the read, or compactions of such files."""
        fresh: dict[str, tuple[Snapshot, ManifestEntry]] = {}
        for snapshot in reversed(self._history.snapshots):
            changes = self._history.changes_of
            removed = [e.file.file_path for e in changes(snapshot, ManifestContent.DATA, EntryStatus.DELETED)]
            moved = any(fresh.pop(path, None) is not None for path in removed)
            if moved or not is_rewrite(snapshot):
                for entry in changes(snapshot, ManifestContent.DATA, EntryStatus.ADDED):
                    fresh[entry.file.file_path] = (snapshot, entry)
        return list(fresh.values())

    def _may_share_key(self, file: ContentFile, other: ContentFile, field_ids: Sequence[int]) -> bool:
        columns = metrics_columns([self._base.schema()])
        for field_id in field_ids:
            one = columns.get(field_id)
            if one is not None and not metrics_range(file, field_id, one).overlaps(metrics_range(other, field_id, one)):
                return False
        return True

    def _live(self, entry: ManifestEntry, rows: pa.Table, own: Mapping[str, DeletedRows]) -> pa.Table:
        """The rows that neither a position delete of the head nor this commit, by `own`, deletes."""
        path, spec_ids = entry.file.file_path, {entry.file.spec_id}
        head = self._base.head(self._context.destination.branch)
        index = position_delete_index(self._context, self._base, head, spec_ids)
        deleted = deleted_positions(self._context.io, [entry], index, self._cache)
        gone = deleted[path].positions() if path in deleted else BitMap64()
        if path in own:
            gone = gone | own[path].positions
        return rows.filter(
            pa.array([position not in gone for position in rows.column(POSITION).to_pylist()], pa.bool_())
        )

    # messages

    def _contested_positions(
        self, snapshot: Snapshot, delete_file: ContentFile, path: str, positions: BitMap64, rows: DeletedRows
    ) -> ValidationConflict:
        """The error for rows at these positions, named by their keys if the table has a key and it can be read."""
        field_ids = self._base.schema().identifier_field_ids
        some = BitMap64(list(positions[:MOST_LISTED]))
        keys = key_values(self._context.io, rows.data_file(path), field_ids, some) if field_ids else None
        files = list(dict.fromkeys((path, delete_file.file_path)))
        if keys is None or not keys.num_rows:
            shown = ", ".join(map(str, some[:_NAMED_ROWS]))
            return self._contested(snapshot, f"the rows {shown} of {path}", files)
        return self._contested_keys(snapshot, files, keys, field_ids)

    def _contested_keys(
        self, snapshot: Snapshot, files: Sequence[str], rows: pa.Table, field_ids: Sequence[int]
    ) -> ValidationConflict:
        names = [path_text(self._base.schema().column_path(field_id)) for field_id in field_ids]
        listed = rows.drop_columns([POSITION]).slice(0, MOST_LISTED).rename_columns(names).to_pylist()
        keys = [json.dumps(row, default=str, ensure_ascii=False) for row in listed]
        return self._contested(snapshot, f"the rows of {', '.join(keys[:_NAMED_ROWS])}", files, keys)

    def _contested(
        self, snapshot: Snapshot, rows: str, files: Sequence[str], keys: Sequence[str] = ()
    ) -> ValidationConflict:
        return ValidationConflict(
            "WRITE_CONFLICT",
            name=self._context.name,
            who=by(snapshot),
            rows=rows,
            contender=self._history.contender(snapshot, files, keys),
        )


def _common(path: str, deleted: Mapping[str, DeletedRows], positions: BitMap64) -> Iterator[tuple[str, BitMap64]]:
    common = deleted[path].positions & positions
    if common:
        yield path, common
