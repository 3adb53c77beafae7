"""Keys of rows that a refused transaction and another commit have both changed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from sqlext.catalog.pending_catalog import PendingTable
from sqlext.errors import OnlyByQuery, SqlextError
from sqlext.scan.changed_rows import RowsOfFile, changed_rows
from sqlext.scan.deletes.position_delete import PositionDeleteCache
from sqlext.scan.files.manifest_cache import ManifestCache
from sqlext.scan.files.readable_files import require_allowed
from sqlext.scan.key_values import POSITION, key_values
from sqlext.scan.live_rows import RowColumns, live_rows, unread_type
from sqlext.scan.placed_rows import rows_at
from sqlext.scan.resolved_keys import ResolvedKeys, can_resolve
from sqlext.scan.row_changes import row_changes
from sqlext.scan.scan_plan import FileScanTask, ScanPlan, plan_scan
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.metadata.contender import MOST_LISTED
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.name_mapping import NameMapping
from sqlext.spec.schema import Schema
from sqlext.spec.types import has_equality
from sqlext.storage.file_io import FileIO
from sqlext.write.arrow_schema import schema_to_arrow

# What is read after a commit has failed, for either side.
_MOST_ROWS = 100_000
_MOST_VALUES = 4_000_000
_MOST_BYTES = 16 * 1024 * 1024

_Keys: TypeAlias = Mapping[tuple[Any, ...], None]
"""In their order."""


class ContestedKeys:
    """Finds them for the tables of one transaction, whose own changes are read once."""

    def __init__(self, manifests: ManifestCache) -> None:
        self._manifests = manifests
        self._position_deletes = PositionDeleteCache()
        self._resolved = ResolvedKeys()
        self._own: dict[tuple[str, str], _Keys] = {}

    def __call__(self, io: FileIO, own: PendingTable, now: TableMetadata, theirs: Snapshot) -> Sequence[str]:
        """Up to `MOST_LISTED` keys, as JSON, of rows that both the transaction, by its change `own` of a table, and
        the snapshot `theirs` of the table's version `now` have inserted, updated or deleted on a branch.

        None if the table has no key, either changed too many rows, or only a query reads them.
        """
        assert own.base is not None, "the transaction has made the table"
        schema = own.base.metadata.schema()
        branch = _branch_of(now, theirs, own)
        if branch is None or not _has_plain_key(schema) or unread_type(schema) is not None:
            return ()
        parent = None if theirs.parent_snapshot_id is None else now.snapshot_or_none(theirs.parent_snapshot_id)
        try:
            changed = self._changed_by(io, own, branch)
            both = [key for key in self._changed(io, schema, now, parent, theirs) if key in changed]
        except (OnlyByQuery, OSError, SqlextError):
            return ()
        names = [field.name for field in schema.identifier_fields]
        return [
            json.dumps(dict(zip(names, key, strict=True)), default=str, ensure_ascii=False)
            for key in both[:MOST_LISTED]
        ]

    def _changed_by(self, io: FileIO, own: PendingTable, branch: str) -> _Keys:
        assert own.base is not None
        before, after = own.base.metadata, own.current.metadata
        place = before.table_uuid, branch
        if place not in self._own:
            self._own[place] = self._changed(io, before.schema(), after, before.head(branch), after.head(branch))
        return self._own[place]

    def _changed(
        self, io: FileIO, schema: Schema, metadata: TableMetadata, before: Snapshot | None, after: Snapshot | None
    ) -> _Keys:
        """The keys of the rows that differ between two snapshots; none if there are too many, or they are unknown."""
        then, now = (self._plan(io, schema, metadata, snapshot) for snapshot in (before, after))
        changed = changed_rows(then, now, _MOST_ROWS)
        if changed is None:
            return {}
        require_allowed(io, [rows.file for rows in (*changed.went, *changed.came)])
        left = now.by_path()
        removed = [rows for rows in changed.went if rows.file.file_path not in left]
        if not removed or not changed.came:
            return _keys_of(io, schema, (*changed.went, *changed.came))
        # A row of a removed file may only have moved to another one.
        touched = [rows for rows in changed.went if rows.file.file_path in left]
        return {**_keys_of(io, schema, touched), **_unmoved(io, schema, (then, removed), (now, changed.came))}

    def _plan(self, io: FileIO, schema: Schema, metadata: TableMetadata, snapshot: Snapshot | None) -> ScanPlan:
        plan = plan_scan(
            io,
            metadata,
            snapshot,
            AlwaysTrue(),
            manifests=self._manifests,
            position_deletes=self._position_deletes,
            with_metrics=False,
        )
        mapping = NameMapping.of_table(metadata.properties)
        is_resolved = plan.equality_groups and can_resolve(plan, schema, mapping)
        return self._resolved.resolve(io, plan, schema) if is_resolved else plan


def _keys_of(io: FileIO, schema: Schema, places: Sequence[RowsOfFile]) -> _Keys:
    ids = schema.identifier_field_ids
    if sum(rows.file.record_count for rows in places) * len(ids) > _MOST_VALUES:
        return {}
    found = [key_values(io, rows.file, ids, rows.positions) for rows in places]
    return {key: None for table in found if table is not None for key in _tuples(table.drop_columns([POSITION]))}


def _unmoved(
    io: FileIO,
    schema: Schema,
    went: tuple[ScanPlan, Sequence[RowsOfFile]],
    came: tuple[ScanPlan, Sequence[RowsOfFile]],
) -> _Keys:
    """The keys of the rows, each side those of files of a plan, that are not the same on both. Raises as
    `live_rows`."""
    size = sum(rows.file.file_size_in_bytes for _, places in (went, came) for rows in places)
    if size > _MOST_BYTES or not all(has_equality(field.type) for field in schema.fields):
        return {}
    columns = RowColumns(schema.fields, schema_to_arrow(schema))
    old, new = (_rows(io, plan, places, columns) for plan, places in (went, came))
    key = [field.name for field in schema.identifier_fields]
    return dict.fromkeys(_tuples(row_changes(old, new, key).select(key)))


def _rows(io: FileIO, plan: ScanPlan, places: Sequence[RowsOfFile], columns: RowColumns) -> pa.Table:
    def read(task: FileScanTask, source: int) -> Iterator[pa.RecordBatch]:
        return live_rows(io, task, columns, lineage=False, source=source)

    positions = {rows.file.file_path: rows.positions for rows in places}
    return rows_at(plan.by_path(), positions, columns.shape(lineage=False, origins=True), read).rows


def _tuples(rows: pa.Table) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in rows.columns), strict=True)


def _branch_of(now: TableMetadata, theirs: Snapshot, own: PendingTable) -> str | None:
    """The branch that both have changed; None without one."""
    assert own.base is not None
    before, after = own.base.metadata, own.current.metadata
    changed = (name for name in after.refs if after.head(name) != before.head(name))
    return next((name for name in changed if theirs in _since(now, name, before.head(name))), None)


def _since(metadata: TableMetadata, branch: str, start: Snapshot | None) -> Iterator[Snapshot]:
    """The snapshots of a branch after `start`, newest first."""
    snapshot = metadata.head(branch)
    while snapshot is not None and snapshot != start:
        yield snapshot
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else metadata.snapshot_or_none(parent)


def _has_plain_key(schema: Schema) -> bool:
    ids = schema.identifier_field_ids
    return bool(ids) and all(len(schema.column_path(id)) == 1 for id in ids)
