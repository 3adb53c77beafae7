"""Rows of a table version as Arrow: the files of a scan plan, with all deletes as positions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

from sqlext.command.environment import Environment
from sqlext.errors import OnlyByQuery, UnsupportedError
from sqlext.local.condition_value import Columns
from sqlext.local.row_condition import RowCondition
from sqlext.scan import placed_rows
from sqlext.scan.files.readable_files import require_allowed
from sqlext.scan.filter.row_group_metrics import matching_row_groups
from sqlext.scan.live_rows import RowColumns, live_rows
from sqlext.scan.placed_rows import PlacedRows, places_of
from sqlext.scan.scan_plan import FileScanTask, ScanPlan
from sqlext.spark.catalog.session_catalogs import TableVersion
from sqlext.spec.expression import Predicate
from sqlext.spec.manifests.position_set import position_set
from sqlext.spec.schema import Schema
from sqlext.spec.types import NestedField, UnknownType
from sqlext.write.arrow_schema import schema_to_arrow


def stored_fields(schema: Schema) -> tuple[NestedField, ...]:
    """The columns that data files have: all but those of type unknown."""
    return tuple(field for field in schema.fields if not isinstance(field.type, UnknownType))


def columns_of(fields: Sequence[NestedField]) -> RowColumns:
    """How to read these columns, none of them of type unknown."""
    return RowColumns(fields, schema_to_arrow(Schema(tuple(fields))))


def planned_rows(environment: Environment, version: TableVersion, predicate: Predicate) -> ScanPlan:
    """The files that may have rows that match, with equality deletes as positions.

    Raises UnsupportedError LOCAL_NEEDS_SPARK if these are too many, or of keys, that only a join applies.
    """
    plan = environment.scans.plan(version, predicate)
    found = environment.scans.with_positions(version, plan)
    if found is None:
        raise UnsupportedError(
            "LOCAL_NEEDS_SPARK",
            what=f"Reading {version.handle.full_name}",
            reason="it has equality deletes of many rows, or of keys that are no integers, dates and texts;"
            " once the table is compacted it has none",
        )
    require_allowed(version.io, [task.file for task in found.tasks])
    return found


def read_rows(
    version: TableVersion,
    task: FileScanTask,
    columns: RowColumns,
    *,
    predicate: Predicate | None = None,
    lineage: bool = False,
    source: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """As `live_rows`, without row groups that have no row that `predicate` selects, if not None. Raises
    UnsupportedError LOCAL_NEEDS_SPARK for a file that it does not project, and as it."""

    def groups(footer: pq.FileMetaData, names: Mapping[int, str]) -> Sequence[int]:
        all = range(footer.num_row_groups)
        return all if predicate is None else matching_row_groups(footer, all, names, predicate, version.schema)

    try:
        yield from live_rows(version.io, task, columns, lineage=lineage, source=source, groups=groups)
    except OnlyByQuery as path:
        raise UnsupportedError(
            "LOCAL_NEEDS_SPARK",
            what=f"Reading {version.handle.full_name}",
            reason=f"the file {path} is not Parquet with field ids, or has a column of another type than the table",
        ) from None


def batch_columns(columns: RowColumns, batch: pa.RecordBatch) -> Columns:
    """The columns of a batch by field id."""
    return {field.id: batch.column(number) for number, field in enumerate(columns.fields)}


def selected_rows(
    environment: Environment, version: TableVersion, condition: RowCondition, fields: Sequence[NestedField]
) -> Iterator[pa.RecordBatch]:
    """The rows that match the condition, with the columns `fields`, none of them of type unknown. Raises as
    `planned_rows` and `read_rows`."""
    ids = {field.id for field in fields}
    further = [one for one in stored_fields(version.schema) if one.id in condition.field_ids - ids]
    columns, kept = columns_of([*fields, *further]), range(len(fields))
    for task in planned_rows(environment, version, condition.pruning).tasks:
        for batch in read_rows(version, task, columns, predicate=condition.pruning):
            if condition.field_ids:
                chosen = condition.selected(batch_columns(columns, batch), batch.num_rows)
                if not chosen.all():
                    batch = batch.filter(pa.array(chosen))
            yield batch.select(kept)


def selected_positions(
    version: TableVersion, tasks: Sequence[FileScanTask], condition: RowCondition
) -> dict[str, BitMap64]:
    """The positions, by data file, of the live rows of `tasks` that match. Raises as `read_rows`."""
    columns = columns_of([one for one in stored_fields(version.schema) if one.id in condition.field_ids])
    found: dict[str, BitMap64] = {}
    for task in tasks:
        positions = BitMap64()
        for batch in read_rows(version, task, columns, predicate=condition.pruning, source=0):
            chosen = condition.selected(batch_columns(columns, batch), batch.num_rows)
            positions.update(position_set(places_of(batch)[chosen]))
        if positions:
            found[task.file.file_path] = positions
    return found


def rows_at(
    version: TableVersion,
    tasks: Mapping[str, FileScanTask],
    positions: Mapping[str, BitMap64],
    columns: RowColumns,
    *,
    lineage: bool = False,
) -> PlacedRows:
    """As `scan.placed_rows.rows_at`, of files of the version. Raises as `read_rows`."""

    def read(task: FileScanTask, source: int) -> Iterator[pa.RecordBatch]:
        return read_rows(version, task, columns, lineage=lineage, source=source)

    return placed_rows.rows_at(tasks, positions, columns.shape(lineage=lineage, origins=True), read)
