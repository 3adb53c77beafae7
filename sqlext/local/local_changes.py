"""The change feed of a table as Arrow, with the columns and rows of SQL's `table_changes`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sqlext.command.changelog.change_spans import Span, changelog_spans
from sqlext.command.changelog.changes import ChangeFeed, PlansInOrder, snapshot_pairs
from sqlext.command.environment import Environment
from sqlext.errors import UnsupportedError
from sqlext.local.local_scan import columns_of, read_rows, rows_at
from sqlext.scan.changed_rows import RowsOfFile, changed_rows
from sqlext.scan.row_changes import row_changes
from sqlext.scan.scan_plan import ScanPlan
from sqlext.spark.catalog.session_catalogs import TableVersion
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spark.catalog.time_travel import pinned_snapshot
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.row_kind import ROW_KIND
from sqlext.spec.schema import Schema
from sqlext.spec.types import NestedField, UnknownType
from sqlext.sql.lowering.changes import CHANGE_TYPE, ORDINAL, ROW_KINDS, SNAPSHOT_ID
from sqlext.sql.lowering.compared_value import can_compare

_CHANGES = {kind: change for change, kind in ROW_KINDS.items()}


def changes_between(
    environment: Environment,
    handle: TableHandle,
    metadata: TableMetadata,
    start: Mapping[str, Any],
    end: Mapping[str, Any],
    *,
    net: bool,
) -> pa.Table:
    """The changes of a table after the place `start` up to `end`, see `ChangeFeed.sql`. An empty place is the
    beginning, or the newest snapshot of the handle's branch.

    Raises as `ChangeFeed.sql`, and UnsupportedError LOCAL_NEEDS_SPARK.
    """
    feed = ChangeFeed(environment)
    after = feed.snapshot(handle, metadata, end) or feed.head(handle)
    before = None if after is None else feed.snapshot(handle, metadata, start)
    reader = _Reader(environment, feed, handle, metadata.schema())
    if after is None:
        return reader.told(reader.nothing(), 0, 0)
    if net:
        return reader.told(reader.difference(before, after), 0, after.snapshot_id)
    spans = changelog_spans(snapshot_pairs(handle, metadata, before, after))
    found = [reader.told(reader.rows(span), at, span.after.snapshot_id) for at, span in enumerate(spans)]
    return pa.concat_tables(found or [reader.told(reader.nothing(), 0, 0)])


class _Reader:
    """Reads changes as rows of the table's columns followed by `ROW_KIND`."""

    def __init__(self, environment: Environment, feed: ChangeFeed, handle: TableHandle, schema: Schema) -> None:
        self._environment = environment
        self._feed = feed
        self._handle = handle
        self._schema = schema
        self._plans = PlansInOrder(environment)
        self._fields = [field for field in schema.fields if not isinstance(field.type, UnknownType)]

    def nothing(self) -> pa.Table:
        return self._table([*self._fields, ROW_KIND], [])

    def rows(self, span: Span) -> pa.Table:
        """The changes of a span, from its stored changelog if it has one."""
        if span.changelog is None or not self._feed.has_changelog(self._handle, span.changelog):
            return self.difference(span.before, span.after)
        pinned = replace(pinned_snapshot(self._handle, span.changelog.snapshot_id), changelog=True)
        version = self._environment.catalogs.version(pinned)
        names = {field.name: field for field in version.schema.fields}
        fields = [*self._fields, names[ROW_KIND.name]]
        plan = self._environment.scans.plan(version, AlwaysTrue())
        columns = columns_of(fields)
        return self._table(fields, [batch for task in plan.tasks for batch in read_rows(version, task, columns)])

    def difference(self, before: Snapshot | None, after: Snapshot) -> pa.Table:
        """The rows that differ between two snapshots."""
        then, now = self._plan(before), self._plan(after)
        changed = changed_rows(then, now)
        assert changed is not None, "there is no limit, and no equality delete is left"
        if changed.went and changed.came and not can_compare(self._schema):
            raise self._refused("rows of its columns cannot be compared")
        went, came = self._read(changed.went, then, before), self._read(changed.came, now, after)
        key = [self._schema.column_path(id) for id in self._schema.identifier_field_ids]
        if any(len(path) > 1 for path in key):
            raise self._refused("its key is in a struct")
        return row_changes(went, came, [path[0] for path in key])

    def _refused(self, reason: str) -> UnsupportedError:
        what = f"Reading the changes of {self._handle.full_name}"
        return UnsupportedError("LOCAL_NEEDS_SPARK", what=what, reason=reason)

    def _version(self, snapshot: Snapshot) -> TableVersion:
        return self._environment.catalogs.version(pinned_snapshot(self._handle, snapshot.snapshot_id))

    def _plan(self, snapshot: Snapshot | None) -> ScanPlan:
        if snapshot is None:
            return ScanPlan()
        plan = self._environment.scans.with_positions(self._version(snapshot), self._plans.plan(self._handle, snapshot))
        if plan is None:
            raise self._refused("it has equality deletes that only a join applies")
        return plan

    def _read(self, places: Sequence[RowsOfFile], plan: ScanPlan, snapshot: Snapshot | None) -> pa.Table:
        if snapshot is None:
            return self._table(self._fields, [])
        by_path, columns = plan.by_path(), columns_of(self._fields)
        positions = {rows.file.file_path: rows.positions for rows in places}
        return rows_at(self._version(snapshot), by_path, positions, columns).rows

    def _table(self, fields: Sequence[NestedField], batches: Sequence[pa.RecordBatch]) -> pa.Table:
        shape = columns_of(fields).shape(lineage=False, origins=False)
        return pa.Table.from_batches(batches, shape)

    def told(self, rows: pa.Table, ordinal: int, snapshot_id: int) -> pa.Table:
        """The changes in the columns of `table_changes`."""
        kinds = rows.column(rows.num_columns - 1)
        at = pc.index_in(kinds, value_set=pa.array(list(_CHANGES)))
        columns = [self._own(field, rows) for field in self._schema.fields]
        columns += [
            pa.chunked_array([pa.array(list(_CHANGES.values())).take(chunk) for chunk in at.chunks], pa.string()),
            pa.repeat(pa.scalar(ordinal, pa.int32()), rows.num_rows),
            pa.repeat(pa.scalar(snapshot_id, pa.int64()), rows.num_rows),
        ]
        names = [*(field.name for field in self._schema.fields), CHANGE_TYPE, ORDINAL, SNAPSHOT_ID]
        return pa.table(columns, names=names)

    def _own(self, field: NestedField, rows: pa.Table) -> Any:
        return pa.nulls(rows.num_rows) if isinstance(field.type, UnknownType) else rows.column(field.name)
