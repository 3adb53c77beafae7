"""Metrics of a Parquet file that another program has written, from the statistics in its footer.

Unlike a file of sqlext it may lack statistics, have columns in any order, or have NaN among its limits. NaN is not
counted, as that needs the rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq

from sqlext.spec.single_value import encode
from sqlext.spec.types import BinaryType, DoubleType, FloatType, StringType
from sqlext.write.existing.existing_schema import MatchedLeaf
from sqlext.write.metrics import NONE, Metrics, MetricsMode, stored_value, truncated_upper


@dataclass(frozen=True, slots=True)
class ColumnRange:
    """Counts of a column's values and nulls, and its least and greatest value; None if the statistics lack them."""

    values: int
    nulls: int | None
    limits: tuple[Any, Any] | None


def column_range(footer: pq.FileMetaData, leaf: MatchedLeaf) -> ColumnRange:
    """Counts and limits of a leaf over all row groups."""
    chunks = [footer.row_group(index).column(leaf.position) for index in range(footer.num_row_groups)]
    statistics = [chunk.statistics for chunk in chunks]
    counted = all(one is not None and one.has_null_count for one in statistics)
    nulls = sum(one.null_count for one in statistics) if counted else None
    return ColumnRange(sum(chunk.num_values for chunk in chunks), nulls, _limits(leaf, statistics))


def existing_metrics(footer: pq.FileMetaData, leaves: Sequence[MatchedLeaf], modes: Sequence[MetricsMode]) -> Metrics:
    """Metrics of the leaves, by their modes."""
    metrics = Metrics()
    for leaf, mode in zip(leaves, modes, strict=True):
        if mode == NONE:
            continue
        chunks = (footer.row_group(index).column(leaf.position) for index in range(footer.num_row_groups))
        metrics.column_sizes[leaf.field_id] = sum(chunk.total_compressed_size for chunk in chunks)
        if leaf.repeated:
            continue
        known = column_range(footer, leaf)
        metrics.value_counts[leaf.field_id] = known.values
        if known.nulls is not None:
            metrics.null_value_counts[leaf.field_id] = known.nulls
        if mode.kind != "counts" and known.limits is not None:
            _add_bounds(metrics, leaf, known.limits, mode.length)
    return metrics


def _add_bounds(metrics: Metrics, leaf: MatchedLeaf, limits: tuple[Any, Any], length: int | None) -> None:
    lower, upper = limits
    if isinstance(leaf.type, StringType | BinaryType) and length is not None:
        lower, upper = lower[:length], truncated_upper(upper, length)
    metrics.lower_bounds[leaf.field_id] = encode(leaf.type, lower)
    if upper is not None:
        metrics.upper_bounds[leaf.field_id] = encode(leaf.type, upper)


def _limits(leaf: MatchedLeaf, statistics: Sequence[Any]) -> tuple[Any, Any] | None:
    """Least and greatest value; None unless every chunk with values has both."""
    told = [one for one in statistics if one is not None and one.has_min_max]
    silent = [one for one in statistics if one is None or (not one.has_min_max and one.num_values > 0)]
    if not told or silent:
        return None
    try:
        lowest = [stored_value(leaf.type, one.min_raw) for one in told]
        highest = [stored_value(leaf.type, one.max_raw) for one in told]
    except UnicodeDecodeError:
        # Some writers truncate limits within a character.
        return None
    if isinstance(leaf.type, FloatType | DoubleType):
        return _float_limits(lowest, highest)
    return min(lowest), max(highest)


def _float_limits(lowest: Sequence[float], highest: Sequence[float]) -> tuple[float, float] | None:
    """Limits of floats, None if one is NaN; a zero gets the sign that bounds both zeros, as writers differ."""
    if any(math.isnan(limit) for limit in (*lowest, *highest)):
        return None
    return min(lowest) or -0.0, max(highest) or 0.0
