"""The difference of two snapshots, computed by the driver from row positions without a query, if the changes are
few."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from sqlext.command.changelog.changes import PlansInOrder
from sqlext.command.environment import Environment
from sqlext.scan.changed_rows import RowsOfFile, changed_rows
from sqlext.scan.files.readable_files import require_allowed
from sqlext.scan.row_changes import row_changes
from sqlext.spark.catalog.table_handle import TableHandle
from sqlext.spec.manifests.position_set import position_array
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.schema import Schema
from sqlext.spec.types import NestedField
from sqlext.storage.location import is_object
from sqlext.write.arrow_schema import schema_to_arrow
from sqlext.write.positioned_values import has_positioned_values, values_at


def few_changes(
    environment: Environment,
    handle: TableHandle,
    before: Snapshot | None,
    after: Snapshot,
    most: int,
    plans: PlansInOrder | None = None,
) -> pa.Table | None:
    """The changed rows, with the table's current columns followed by `ROW_KIND`, as in a change feed. `plans` are those
    of several calls, for steps in their order.

    None if there are more than `most`, or if only a query can find or read them. Raises errors of a scan.
    """
    plans = plans or PlansInOrder(environment)
    version = environment.catalogs.version(handle)
    schema = version.metadata.schema()
    key = [schema.column_path(id) for id in schema.identifier_field_ids]
    if not all(map(has_positioned_values, schema.fields)) or any(len(path) > 1 for path in key):
        return None
    listed = plans.plan(handle, before), plans.plan(handle, after)
    then, now = (environment.scans.with_positions(version, plan) for plan in listed)
    if then is None or now is None:
        return None
    changed = changed_rows(then, now, most)
    if changed is None or changed.bytes > environment.planning.thresholds.driver_bytes:
        return None
    files = [rows.file for rows in (*changed.went, *changed.came)]
    by_field_id = all(environment.scans.reads_by_field_id(version, plan) for plan in listed)
    if not by_field_id or any(is_object(file.file_path) for file in files):
        return None
    require_allowed(version.io, files)
    went, came = (_rows(side, schema) for side in (changed.went, changed.came))
    return row_changes(went, came, [path[0] for path in key])


def _rows(places: Sequence[RowsOfFile], schema: Schema) -> pa.Table:
    empty = schema_to_arrow(schema).empty_table()
    return pa.concat_tables([empty, *(_rows_of_file(rows, schema.fields, empty.schema) for rows in places)])


def _rows_of_file(rows: RowsOfFile, fields: Sequence[NestedField], stored: pa.Schema) -> pa.Table:
    positions = position_array(rows.positions)
    columns = values_at(rows.file.file_path, positions, fields)
    return pa.table([column.cast(field.type) for column, field in zip(columns, stored, strict=True)], schema=stored)
