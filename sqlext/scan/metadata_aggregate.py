"""Aggregate pushdown: COUNT, MIN and MAX over all rows or by partition, from the metadata of a snapshot.

The snapshot must have no delete files. MIN and MAX of strings come from partition values only, since writers truncate
bounds; those of bytes and floats are not supported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sqlext.scan.files.manifest_cache import ManifestCache, ManifestContents
from sqlext.scan.filter.bound_column import bound_column
from sqlext.scan.filter.entry_counts import counts_by_entry
from sqlext.scan.filter.file_filter import FileFilter
from sqlext.scan.filter.measured_column import MetricsColumn
from sqlext.scan.filter.value_range import decode_bound, row_counts_of
from sqlext.spec.avro.column import Mask, Octets
from sqlext.spec.expression import Predicate
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.manifest import ManifestContent
from sqlext.spec.manifests.manifest_columns import ManifestColumns
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.partition_spec import PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.transform import IdentityTransform
from sqlext.spec.types import (
    BooleanType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)
from sqlext.storage.file_io import FileIO

_EXACT_BOUNDS = (BooleanType, IntegerType, LongType, DateType, TimestampType, TimestamptzType, DecimalType)
_SHOWN = (*_EXACT_BOUNDS, StringType)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`count` of a column, or of rows if `field_id` is None; `min` and `max` of a column."""

    function: Literal["count", "min", "max"]
    field_id: int | None = None


class _NotTold(Exception):
    """The metadata of a file does not determine an aggregate."""


def aggregate(
    io: FileIO,
    metadata: TableMetadata,
    snapshot: Snapshot | None,
    schema: Schema,
    predicate: Predicate,
    groups: Sequence[int],
    aggregates: Sequence[Aggregate],
    *,
    manifests: ManifestCache,
    with_deleted_rows: bool = False,
) -> list[list[Any]] | None:
    """A row for each group, with the stored values of `groups` and then the aggregates; one row if `groups` is empty.

    None if metadata does not determine the result. With `with_deleted_rows` it is an estimate: of all rows in data
    files, whatever is deleted by delete files. `schema` has the fields of `predicate`, `groups` and `aggregates`.
    Raises NotFoundError, CorruptionError or UnsupportedError for manifests.
    """
    files = FileFilter(predicate, schema=schema, specs=metadata.specs_by_id())
    listed = [] if snapshot is None else [one for one in manifests.manifests(io, snapshot) if one.has_live_files]
    shown = [
        schema.field(id) for id in (*groups, *(a.field_id for a in aggregates if a.function != "count" and a.field_id))
    ]
    of_data = [one for one in listed if one.content == ManifestContent.DATA]
    if len(of_data) < len(listed) and not with_deleted_rows:
        return None
    if any(not isinstance(field.type, _SHOWN) for field in shown):
        return None
    wanted = [one for one in of_data if files.manifest_may_match(one)]
    results: dict[tuple[Any, ...], list[Any]] = {}
    if not groups:
        results[()] = _nothing(aggregates)
    try:
        for manifest, contents in zip(wanted, manifests.contents(io, wanted, metadata), strict=True):
            spec = metadata.specs_by_id()[manifest.spec_id]
            for key, found in _of_manifest(contents, spec, files, schema, groups, aggregates):
                known = results.setdefault(key, _nothing(aggregates))
                results[key] = [
                    _joined(a, left, right) for a, left, right in zip(aggregates, known, found, strict=True)
                ]
    except _NotTold:
        return None
    return [[*key, *values] for key, values in results.items()]


def _nothing(aggregates: Sequence[Aggregate]) -> list[Any]:
    return [0 if one.function == "count" else None for one in aggregates]


def _joined(one: Aggregate, left: Any, right: Any) -> Any:
    if one.function == "count":
        return left + right
    if left is None or right is None:
        return right if left is None else left
    return min(left, right) if one.function == "min" else max(left, right)


def _of_manifest(
    contents: ManifestContents,
    spec: PartitionSpec,
    files: FileFilter,
    schema: Schema,
    groups: Sequence[int],
    aggregates: Sequence[Aggregate],
) -> Iterator[tuple[tuple[Any, ...], list[Any]]]:
    """The values of a group and its aggregates over some files, several times for a group. Raises `_NotTold`."""
    places = _identity_places(spec)
    if any(group not in places for group in groups):
        raise _NotTold
    if contents.columns is None:
        for entry in contents.live_entries():
            if files.file_may_match(entry.file):
                if not files.file_must_match(entry.file):
                    raise _NotTold
                key = tuple(entry.file.partition[places[group]] for group in groups)
                yield key, [_of_file(one, entry.file, places, schema) for one in aggregates]
        return
    for part in contents.columns:
        matching = files.files_may_match(part)
        if not files.files_must_match(part, matching):
            raise _NotTold
        for key, rows in _by_group(part, matching, [places[group] for group in groups]):
            yield key, [_of_rows(one, part, rows, places, schema) for one in aggregates]


def _identity_places(spec: PartitionSpec) -> dict[int, int]:
    """The index of each identity field in partition tuples, by the id of its source column."""
    return {f.source_id: place for place, f in enumerate(spec.fields) if isinstance(f.transform, IdentityTransform)}


def _of_file(one: Aggregate, file: ContentFile, places: dict[int, int], schema: Schema) -> Any:
    if file.record_count < 0:  # unknown
        raise _NotTold
    if one.field_id is None:
        return file.record_count
    if one.field_id in places:
        value = file.partition[places[one.field_id]]
        return _of_constant(one, value, file.record_count)
    nulls = row_counts_of(file, one.field_id, _column(schema, one.field_id)).nulls
    if nulls is None:
        raise _NotTold
    if one.function == "count":
        return file.record_count - nulls
    if nulls == file.record_count:
        return None
    bounds = file.lower_bounds if one.function == "min" else file.upper_bounds
    value_type = schema.field(one.field_id).type
    value = (
        decode_bound(value_type, (bounds or {}).get(one.field_id)) if isinstance(value_type, _EXACT_BOUNDS) else None
    )
    if value is None:
        raise _NotTold
    return value


def _column(schema: Schema, field_id: int) -> MetricsColumn:
    """The column. Raises `_NotTold` for a nested field, whose counts are not counts of rows."""
    if len(schema.column_path(field_id)) > 1:
        raise _NotTold
    return MetricsColumn(schema.field(field_id).type)


def _of_constant(one: Aggregate, value: Any, rows: int) -> Any:
    if one.function == "count":
        return 0 if value is None else rows
    return value


def _by_group(part: ManifestColumns, rows: Mask, places: Sequence[int]) -> Iterator[tuple[tuple[Any, ...], Mask]]:
    if not rows.any():
        return
    if not places:
        yield (), rows
        return
    codes = np.stack([np.broadcast_to(part.partition[place].codes, (part.size,)) for place in places], axis=1)
    distinct, numbers = np.unique(codes, axis=0, return_inverse=True)
    for number, of_group in enumerate(distinct.tolist()):
        chosen = rows & (numbers.reshape(-1) == number)
        if chosen.any():
            values = tuple(part.partition[place].values[code] for place, code in zip(places, of_group, strict=True))
            yield values, chosen


def _of_rows(one: Aggregate, part: ManifestColumns, rows: Mask, places: dict[int, int], schema: Schema) -> Any:
    record_counts = part.record_count.array()
    if (record_counts[rows] < 0).any():
        raise _NotTold
    if one.field_id is None:
        return int(record_counts[rows].sum())
    if one.field_id in places:
        return _of_partitions(one, part, rows, places[one.field_id])
    nulls = counts_by_entry(part, one.field_id, _column(schema, one.field_id)).nulls
    if (nulls[rows] < 0).any():
        raise _NotTold
    if one.function == "count":
        return int((record_counts - nulls)[rows].sum())
    having = rows & (nulls < record_counts)
    if not having.any():
        return None
    bounds = part.metric("lower_bounds" if one.function == "min" else "upper_bounds", one.field_id)
    value_type = schema.field(one.field_id).type
    if not isinstance(bounds, Octets) or not isinstance(value_type, _EXACT_BOUNDS):
        raise _NotTold
    column = bound_column(bounds, value_type, part.size)
    value = None if column is None else column.extreme(having, largest=one.function == "max")
    if value is None:
        raise _NotTold
    return bool(value) if isinstance(value_type, BooleanType) else value


def _of_partitions(one: Aggregate, part: ManifestColumns, rows: Mask, place: int) -> Any:
    column = part.partition[place]
    codes = np.broadcast_to(column.codes, (part.size,))
    joined: Any = _nothing([one])[0]
    for code in np.unique(codes[rows]).tolist():
        count = int(part.record_count.array()[rows & (codes == code)].sum())
        joined = _joined(one, joined, _of_constant(one, column.values[code], count))
    return joined
