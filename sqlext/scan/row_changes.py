"""Old and new rows as changes with row kinds, equal to the result of the SELECT of a change feed.

Values are equal as in Spark's grouping: null equals null, NaN equals NaN, and -0.0 equals 0.0.
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
    """The changes from the rows `went` to the rows `came`, with their columns and then `ROW_KIND`.

    Equal rows in both were moved by a rewrite, and are no changes. Exactly one old and one new row of a `key` are an
    update, whose rows follow each other; with an empty `key` there are only inserts and deletes.
    """
    rows = pa.concat_tables([went, came])
    is_new = np.arange(rows.num_rows) >= went.num_rows
    rows, is_new = _unmoved(rows, is_new)
    updated, order = np.zeros(len(is_new), bool), None
    if key and rows.num_rows:
        codes = codes_of(rows.select(list(key)))
        updated = _updated(codes, is_new)
        order = _by_update(codes, updated & ~is_new, updated & is_new)
    kinds = np.where(is_new, np.where(updated, "+U", "+I"), np.where(updated, "-U", "-D"))
    changes = rows.append_column(ROW_KIND.name, pa.array(kinds.tolist(), pa.string()))
    return changes if order is None else changes.take(pa.array(order))


def _unmoved(rows: pa.Table, is_new: NDArray[np.bool_]) -> tuple[pa.Table, NDArray[np.bool_]]:
    """Multiset difference in both directions: cancels each old row with an equal new row."""
    if is_new.all() or not is_new.any():
        return rows, is_new
    codes = codes_of(rows)
    count = int(codes.max()) + 1
    went, came = (np.bincount(codes[side], minlength=count) for side in (~is_new, is_new))
    others = np.where(is_new, went[codes], came[codes])
    kept = _numbers_of_equal(codes * 2 + is_new) >= others
    return rows.filter(pa.array(kept)), is_new[kept]


def _updated(codes: _Codes, is_new: NDArray[np.bool_]) -> NDArray[np.bool_]:
    count = int(codes.max()) + 1
    went, came = (np.bincount(codes[side], minlength=count) for side in (~is_new, is_new))
    once: NDArray[np.bool_] = (went == 1) & (came == 1)
    return once[codes]


def _by_update(codes: _Codes, is_before: NDArray[np.bool_], is_after: NDArray[np.bool_]) -> _Codes | None:
    """The places of the rows in an order with each new row of an update behind its old one; None: they are so."""
    before = np.flatnonzero(is_before)
    if not len(before):
        return None
    place_of_code = np.empty(int(codes.max()) + 1, np.int64)
    place_of_code[codes[before]] = before
    places = np.arange(len(codes))
    places[is_after] = place_of_code[codes[is_after]]
    return np.argsort(places, kind="stable")


def _numbers_of_equal(codes: _Codes) -> _Codes:
    """The number of equal codes before each code."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    lengths = np.diff(np.append(starts, len(codes)))
    numbers = np.empty(len(codes), np.int64)
    numbers[order] = np.arange(len(codes)) - np.repeat(starts, lengths)
    return numbers


def codes_of(rows: pa.Table) -> _Codes:
    """A number for each row, equal for equal rows. Columns may be lists and structs, but no maps."""
    codes = np.zeros(rows.num_rows, np.int64)
    for column in rows.columns:
        codes = _together(codes, _codes_of_values(column.combine_chunks()))
    return codes


def _together(codes: _Codes, others: _Codes) -> _Codes:
    """A number for each pair."""
    pairs = codes * (int(others.max(initial=0)) + 1) + others
    found: _Codes = np.unique(pairs, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return found


def _codes_of_values(values: pa.Array) -> _Codes:
    if pa.types.is_struct(values.type):
        codes: _Codes = values.is_valid().to_numpy(zero_copy_only=False).astype(np.int64)
        for child in values.flatten():
            codes = _together(codes, _codes_of_values(child))
        return codes
    if pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        values = _as_bytes(values)
    elif pa.types.is_floating(values.type):
        values = pc.add(values, pa.scalar(0, values.type))
    indices = values.dictionary_encode(null_encoding="encode").indices
    found: _Codes = indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _as_bytes(lists: pa.Array) -> pa.Array:
    """The lists as the bytes of the numbers of their elements; null for null."""
    elements = _codes_of_values(lists.flatten())
    ends = np.cumsum(pc.fill_null(pc.list_value_length(lists), 0).to_numpy()).tolist()
    texts = [elements[start:end].tobytes() for start, end in zip([0, *ends], ends, strict=False)]
    return pa.array(texts, pa.binary(), mask=lists.is_null().to_numpy(zero_copy_only=False))
