"""Null and NaN counts of a column in all files of a manifest: `measured_column.row_counts`, vectorised."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sqlext.scan.filter.measured_column import MetricsColumn
from sqlext.spec.avro.column import Integers, Mask
from sqlext.spec.manifests.manifest_columns import ManifestColumns

_UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class EntryCounts:
    """The number of rows by entry in which a column is null, and in which it is NaN; -1 if unknown."""

    nulls: npt.NDArray[np.int64]
    nans: npt.NDArray[np.int64]


def counts_by_entry(columns: ManifestColumns, field_id: int, column: MetricsColumn) -> EntryCounts:
    """The result of `row_counts` for each entry's file."""
    records = columns.record_count.array()
    values, are_told = _told(columns, "value_counts", field_id)
    nulls = _within(records, *_told(columns, "null_value_counts", field_id))
    nans = np.zeros(columns.size, np.int64)
    if column.has_nan:
        nans = _within(records, *_told(columns, "nan_value_counts", field_id))
    agree = np.maximum(nulls, 0) + np.maximum(nans, 0) <= records
    believed = (records >= 0) & (~are_told | (values == records)) & agree
    if column.may_lack_struct:
        nulls = np.where(nulls == records, nulls, _UNKNOWN)
    return EntryCounts(np.where(believed, nulls, _UNKNOWN), np.where(believed | (not column.has_nan), nans, _UNKNOWN))


def _told(columns: ManifestColumns, name: str, field_id: int) -> tuple[npt.NDArray[np.int64], Mask]:
    """A metric by entry, and a mask of the entries that have it."""
    column = columns.metric(name, field_id)
    if column is None:
        return np.zeros(columns.size, np.int64), np.zeros(columns.size, np.bool_)
    assert isinstance(column, Integers)
    return column.array(), np.ones(columns.size, np.bool_) if column.valid is None else column.valid


def _within(records: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], told: Mask) -> npt.NDArray[np.int64]:
    return np.where(told & (counts >= 0) & (counts <= records), counts, _UNKNOWN)
