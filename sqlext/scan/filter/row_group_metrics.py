"""Metrics of the row groups of a Parquet file, by its footer, in the form of those of data files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow.parquet as pq

from sqlext.scan.filter.measured_column import metrics_columns
from sqlext.scan.filter.pruning import may_match, metrics_ranges
from sqlext.spec.expression import Predicate, referenced_field_ids
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.schema import Schema
from sqlext.spec.single_value import encode
from sqlext.spec.types import (
    BinaryType,
    DateType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
    Type,
    UuidType,
)

# In files they are whole numbers in the units of stored values, or the bytes of their binary form.
_NUMBERS = (IntegerType, LongType, DateType, TimestampType, TimestamptzType)
_BYTES = (StringType, BinaryType, UuidType)
_STORED_AS = {**dict.fromkeys(_NUMBERS, ("INT32", "INT64")), **dict.fromkeys(_BYTES, ("BYTE_ARRAY",))}
_STORED_AS[UuidType] = ("FIXED_LEN_BYTE_ARRAY",)


def matching_row_groups(
    footer: pq.FileMetaData, groups: Sequence[int], names: Mapping[int, str], predicate: Predicate, schema: Schema
) -> Sequence[int]:
    """Those of the row groups that may have a row that the predicate selects; `names` are as in `predicate_metrics`."""
    measured = metrics_columns([schema])
    found = zip(groups, predicate_metrics(footer, groups, names, predicate, schema), strict=True)
    return [group for group, metrics in found if may_match(predicate, metrics_ranges(metrics, measured))]


def predicate_metrics(
    footer: pq.FileMetaData, groups: Sequence[int], names: Mapping[int, str], predicate: Predicate, schema: Schema
) -> Sequence[ContentFile]:
    """The `row_group_metrics` of row groups, of the columns to which the predicate refers; `names` may have others,
    also of fields that `schema` lacks."""
    compared = {id: names[id] for id in referenced_field_ids(predicate) if id in names}
    return [row_group_metrics(footer, group, compared, schema) for group in groups]


def row_group_metrics(footer: pq.FileMetaData, group: int, names: Mapping[int, str], schema: Schema) -> ContentFile:
    """The rows of a row group as if they were a data file, with the counts and bounds that the footer tells of columns
    of integers, days, microseconds, texts, bytes and UUIDs. `names` are those of the file's top-level columns by field
    id of `schema`, for all or some of them."""
    rows = footer.row_group(group)
    ids = {name: id for id, name in names.items()}
    values: dict[int, int] = {}
    nulls: dict[int, int] = {}
    lower: dict[int, bytes] = {}
    upper: dict[int, bytes] = {}
    for index in range(rows.num_columns):
        leaf = footer.schema.column(index)
        # The path of a field in a struct may be the name of a column, which holds a dot.
        id = ids.get(leaf.name) if leaf.name == leaf.path else None
        if id is None:
            continue
        chunk = rows.column(index)
        type = schema.field(id).type
        told = chunk.statistics if chunk.physical_type in _STORED_AS.get(type.__class__, ()) else None
        if told is None:
            continue
        if told.has_null_count:
            values[id], nulls[id] = rows.num_rows, told.null_count
        if told.has_min_max:
            lower[id], upper[id] = (_bound(type, one) for one in (told.min_raw, told.max_raw))
    return ContentFile(
        Content.DATA,
        "",
        "PARQUET",
        0,
        (),
        rows.num_rows,
        rows.total_byte_size,
        value_counts=values,
        null_value_counts=nulls,
        lower_bounds=lower,
        upper_bounds=upper,
    )


def _bound(type: Type, stored: int | bytes) -> bytes:
    return stored if isinstance(stored, bytes) else encode(type, stored)
