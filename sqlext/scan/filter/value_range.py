"""Ranges of the values of a column in a set of rows, by partition values, manifest field summaries or metrics.

`pruning` and `delete_file_index` use them for all three. The order is Spark's: NaN equals itself and is greater than
every other value, and -0.0 equals 0.0. Bounds need not be values of a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlext.scan.filter.measured_column import MetricsColumn, RowCounts, row_counts
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.manifest import FieldSummary
from sqlext.spec.single_value import are_bounds_in_any_order, decode
from sqlext.spec.types import (
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StructType,
    Type,
    UnknownType,
    VariantType,
)

UNORDERED = (StructType, ListType, MapType, UnknownType, VariantType)
_WIDEST: Mapping[type, Type] = {IntegerType: LongType(), FloatType: DoubleType()}


@dataclass(frozen=True, slots=True)
class ValueRange:
    """The possible values of a column: null, NaN, and other values from `lower` to `upper` (None: unbounded)."""

    may_be_null: bool = True
    may_be_nan: bool = True
    may_be_value: bool = True
    lower: Any = None
    upper: Any = None

    def overlaps(self, other: ValueRange) -> bool:
        """Whether a value may be in both ranges; null equals null."""
        if (self.may_be_null and other.may_be_null) or (self.may_be_nan and other.may_be_nan):
            return True
        if not (self.may_be_value and other.may_be_value):
            return False
        return _may_precede(self.lower, other.upper) and _may_precede(other.lower, self.upper)


UNKNOWN_RANGE = ValueRange()
EMPTY_RANGE = ValueRange(False, False, False)
NULL_RANGE = ValueRange(True, False, False)
NAN_RANGE = ValueRange(False, True, False)

RangeOf = Callable[[int], ValueRange]
"""The range of a column by field id; `UNKNOWN_RANGE` if unknown."""


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def point_range(value: Any) -> ValueRange:
    """The range of one value, such as that of a partition field in a file."""
    if value is None:
        return NULL_RANGE
    if is_nan(value):
        return NAN_RANGE
    return ValueRange(False, False, True, value, value)


def summary_range(summary: FieldSummary, value_type: Type) -> ValueRange:
    """The range of a partition field over a manifest (spec: "Manifest Lists", `field_summary`).

    In a summary without bounds all values are null or NaN. If it contains neither, the range is unknown.
    """
    if isinstance(value_type, UNORDERED):
        return UNKNOWN_RANGE
    floating = isinstance(value_type, (FloatType, DoubleType))
    may_be_nan = floating and summary.contains_nan is not False
    lower, upper = decode_bounds(value_type, summary.lower_bound, summary.upper_bound)
    if summary.lower_bound is None and summary.upper_bound is None:
        stated = summary.contains_null or summary.contains_nan
        return ValueRange(summary.contains_null, may_be_nan, False) if stated else UNKNOWN_RANGE
    return ValueRange(summary.contains_null, may_be_nan, True, lower, upper)


def metrics_range(file: ContentFile, field_id: int, column: MetricsColumn) -> ValueRange:
    """The range of a column in a content file, from its counts and bounds (spec: "Data file fields").

    Missing or contradictory metrics leave their part of the range unknown.
    """
    if file.record_count == 0:
        return EMPTY_RANGE
    if isinstance(column.type, UNORDERED):
        return UNKNOWN_RANGE
    lower, upper = _metric(file.lower_bounds, field_id), _metric(file.upper_bounds, field_id)
    counts = row_counts_of(file, field_id, column)
    nulls, nans = counts.nulls or 0, counts.nans or 0
    least, largest = decode_bounds(column.type, lower, upper)
    return ValueRange(
        may_be_null=counts.nulls != 0,
        may_be_nan=counts.nans != 0 and nulls != file.record_count,
        may_be_value=nulls + nans != file.record_count,
        lower=least,
        upper=largest,
    )


def row_counts_of(file: ContentFile, field_id: int, column: MetricsColumn) -> RowCounts:
    """The number of rows of a content file in which a column is null or NaN, by `row_counts` of its metrics."""
    counts = (file.value_counts, file.null_value_counts, file.nan_value_counts)
    return row_counts(column, file.record_count, *(_metric(one, field_id) for one in counts))


def decode_bounds(value_type: Type, lower: bytes | None, upper: bytes | None) -> tuple[Any, Any]:
    """Both bounds by `decode_bound`; None for uuid bounds that depend on the writer's order of uuids."""
    least, largest = decode_bound(value_type, lower), decode_bound(value_type, upper)
    if isinstance(least, UUID) and isinstance(largest, UUID) and not are_bounds_in_any_order(least, largest):
        return None, None
    return least, largest


def decode_bound(value_type: Type, bound: bytes | None) -> Any:
    """A bound as a stored value of `value_type`, also if it was written before a type promotion; None for no bound.

    A bound that cannot be decoded, such as a string truncated inside a character, counts as none, since metrics must
    not fail a read. So does NaN, which old writers stored.
    """
    if bound is None:
        return None
    try:
        value = decode(_WIDEST.get(type(value_type), value_type), bound)
    except ValueError:
        return None
    return None if is_nan(value) else value


def _metric(metrics: Mapping[int, Any] | None, field_id: int) -> Any:
    return None if metrics is None else metrics.get(field_id)


def _may_precede(lower: Any, upper: Any) -> bool:
    return lower is None or upper is None or bool(lower <= upper)
