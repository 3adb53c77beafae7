"""Rows that went and rows that came as changes with their kinds, as the query of a change feed tells them.

Values are compared as Spark compares those of rows: null is null, NaN is NaN, and -0.0 is 0.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sqlext.spec.row_kind import ROW_KIND

_Codes: TypeAlias = NDArray[np.int64]


def row_changes(went: pa.Table, came: pa.Table, key: Sequence[str]) -> pa.Table:
    """The columns that both have, and behind them `ROW_KIND`.

    A row that went and came as well was moved, and is no change. Of the others one that went and one that came with the
    same key are an update, if there are no more with it; without `key` there are no updates.
    """
    rows = pa.concat_tables([went, came])
    is_new = np.arange(rows.num_rows) >= went.num_rows
    rows, is_new = _unmoved(rows, is_new)
    updated = _updated(rows.select(list(key)), is_new) if key else np.zeros(len(is_new), bool)
    kinds = np.where(is_new, np.where(updated, "+U", "+I"), np.where(updated, "-U", "-D"))
    return rows.append_column(ROW_KIND.name, pa.array(kinds.tolist(), pa.string()))


def _unmoved(rows: pa.Table, is_new: NDArray[np.bool_]) -> tuple[pa.Table, NDArray[np.bool_]]:
    """Less the rows that are on both sides, each as often as it is on the other."""
    if is_new.all() or not is_new.any():
        return rows, is_new
    codes = _codes(rows)
    count = int(codes.max()) + 1
    went, came = (np.bincount(codes[side], minlength=count) for side in (~is_new, is_new))
    others = np.where(is_new, went[codes], came[codes])
    kept = _numbers_of_equal(codes * 2 + is_new) >= others
    return rows.filter(pa.array(kept)), is_new[kept]


def _updated(keys: pa.Table, is_new: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if not keys.num_rows:
        return np.zeros(0, bool)
    codes = _codes(keys)
    count = int(codes.max()) + 1
    went, came = (np.bincount(codes[side], minlength=count) for side in (~is_new, is_new))
    once: NDArray[np.bool_] = (went == 1) & (came == 1)
    return once[codes]


def _numbers_of_equal(codes: _Codes) -> _Codes:
    """How many equal ones stand before each."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    lengths = np.diff(np.append(starts, len(codes)))
    numbers = np.empty(len(codes), np.int64)
    numbers[order] = np.arange(len(codes)) - np.repeat(starts, lengths)
    return numbers


def _codes(rows: pa.Table) -> _Codes:
    """A number for each row, the same for equal rows."""
    codes = np.zeros(rows.num_rows, np.int64)
    for column in rows.columns:
        values = column.combine_chunks()
        if pa.types.is_floating(values.type):
            values = pc.add(values, pa.scalar(0, values.type))
        found = values.dictionary_encode(null_encoding="encode")
        together = codes * max(len(found.dictionary), 1) + found.indices.to_numpy(zero_copy_only=False)
        codes = np.unique(together, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return codes
