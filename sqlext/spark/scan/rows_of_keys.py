"""Rows by their key, read by the driver's Python process from the data files of a plan: the columns of the key first,
and the others at the positions that are found. No Spark job is begun."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyroaring import BitMap64

from sqlext.scan.files.file_columns import all_by_field_id
from sqlext.scan.filter.arrow_literals import literal_array
from sqlext.scan.key_lookup import find_keys
from sqlext.scan.live_rows import RowColumns, live_rows
from sqlext.scan.placed_rows import rows_at
from sqlext.scan.scan_plan import FileScanTask, ScanPlan
from sqlext.spark.catalog.session_catalogs import TableVersion
from sqlext.spark.scan.driver_read import MOST_FILES, sought_values
from sqlext.spec.expression import In, Predicate, conjunction
from sqlext.spec.manifests.position_set import position_array
from sqlext.spec.name_mapping import NameMapping
from sqlext.spec.schema import Schema
from sqlext.spec.types import NestedField
from sqlext.storage.location import is_object
from sqlext.thresholds import Thresholds
from sqlext.write.arrow_schema import schema_to_arrow, type_to_arrow
from sqlext.write.metadata_values import metadata_values
from sqlext.write.positioned_values import has_positioned_values, values_at

# Files up to this size are decoded whole; of larger ones only the pages that have the rows.
_WHOLE_BYTES = 1024 * 1024
# Keys of one look-up. The driver keeps as many rows of a query's scan, see LookUps.scala.
_MOST_KEYS = 4096
# A stored byte of a text or of bytes takes about so many in memory.
_UNPACKED = 2
_NUMBER_BYTES = 8


@dataclass(frozen=True, slots=True)
class FoundRows:
    """Rows of the data file at `path` by their positions in it, and their columns by field id."""

    path: str
    positions: BitMap64
    columns: Mapping[int, pa.Array | pa.ChunkedArray]


def keys_sought(predicate: Predicate, key: Sequence[NestedField]) -> pa.Table | None:
    """The keys of which a row has one if it matches, with the columns of the table's key; None if the predicate does
    not say so of each column, says a value that the column cannot hold, or there are many."""
    if not key or not all(has_positioned_values(field) for field in key):
        return None
    values = dict(sought_values(predicate))
    if any(field.id not in values for field in key):
        return None
    columns = [sorted(set(values[field.id])) for field in key]
    count = math.prod(map(len, columns))
    if count > _MOST_KEYS:
        return None
    rows = zip(*itertools.product(*columns), strict=True) if count else [()] * len(key)
    try:
        arrays = [literal_array(column, type_to_arrow(field.type)) for column, field in zip(rows, key, strict=True)]
    except (pa.ArrowException, OverflowError, ValueError):
        return None
    return pa.table(arrays, names=[field.name for field in key])


def having_keys(key: Sequence[NestedField], keys: pa.Table) -> Predicate:
    """A predicate that the rows with one of `keys`, in the columns `key`, match; of one column, or of one key, no other
    row does."""
    return conjunction(
        In(field.id, frozenset(metadata_values(column.combine_chunks(), field.type)))
        for field, column in zip(key, keys.columns, strict=True)
    )


def is_looked_up(
    version: TableVersion,
    plan: ScanPlan,
    key: Sequence[NestedField],
    others: Sequence[NestedField],
    thresholds: Thresholds,
) -> bool:
    """Whether the columns `key` and `others` of the plan's files are read here as by Spark, within the driver's memory,
    and in less time than by a query."""
    files = [task.file for task in plan.tasks]
    if not thresholds.looked_up_rows or len(files) > MOST_FILES:
        return False
    if not all_by_field_id(files, NameMapping.of_table(version.metadata.properties)):
        return False
    if _key_bytes(plan, key) > thresholds.looked_up_key_bytes:
        return False
    positioned = all(map(has_positioned_values, others))
    return all(
        file.file_size_in_bytes <= _WHOLE_BYTES or (positioned and not is_object(file.file_path)) for file in files
    )


def _key_bytes(plan: ScanPlan, key: Sequence[NestedField]) -> int:
    """Estimated bytes of the key columns in memory."""
    return sum(
        max(task.file.record_count * _NUMBER_BYTES, (task.file.column_sizes or {}).get(field.id, 0) * _UNPACKED)
        for task in plan.tasks
        for field in key
    )


def rows_of_keys(
    version: TableVersion,
    plan: ScanPlan,
    key: Sequence[NestedField],
    sought: pa.Table,
    others: Sequence[NestedField],
) -> Iterator[FoundRows]:
    """The live rows with one of the keys `sought`, by file, in the columns of the key and `others`.

    `plan` has no equality deletes; see `is_looked_up`. Raises as `find_keys`, `values_at` and `live_rows`.
    """
    matches = find_keys(version.io, plan, sought, [field.id for field in key])
    tasks = plan.by_path()
    columns = RowColumns(others, schema_to_arrow(Schema(tuple(others))))
    ids = [field.id for field in others]
    start = 0
    for path, positions in matches.positions.items():
        found = sought.take(matches.key_rows[start : start + len(positions)])
        start += len(positions)
        keys = dict(zip((field.id for field in key), found.columns, strict=True))
        values = _columns(version, tasks[path], positions, columns) if others else ()
        yield FoundRows(path, positions, {**keys, **dict(zip(ids, values, strict=True))})


def _columns(
    version: TableVersion, task: FileScanTask, positions: BitMap64, columns: RowColumns
) -> Sequence[pa.Array | pa.ChunkedArray]:
    """The columns in the rows at these positions."""
    path = task.file.file_path
    if task.file.file_size_in_bytes > _WHOLE_BYTES:
        found = values_at(path, position_array(positions), columns.fields)
        return [one.cast(field.type) for one, field in zip(found, columns.arrow, strict=True)]
    shape = columns.shape(lineage=False, origins=True)

    def read(task: FileScanTask, source: int) -> Iterator[pa.RecordBatch]:
        return live_rows(version.io, task, columns, lineage=False, source=source)

    found_rows: Sequence[pa.ChunkedArray] = rows_at({path: task}, {path: positions}, shape, read).rows.columns
    return found_rows
