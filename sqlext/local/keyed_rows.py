"""Which of several given rows with one key is written, and whether it replaces or deletes the stored row.

The same as `command.upsert.change_batch` has Spark compute: a batch has no order of arrival, so two rows with one key
are refused, except a pair of `-U` and `+U`, unless the table has a sequence field.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sqlext.command.change.row_level import Target
from sqlext.command.upsert.change_batch import own_kind_column
from sqlext.commit.rules.sequence_field import row_order
from sqlext.errors import DataError, UnsupportedError
from sqlext.local.given_rows import GivenRows
from sqlext.properties import IGNORE_DELETE, IGNORE_UPDATE_BEFORE
from sqlext.scan.row_changes import codes_of
from sqlext.spec.row_kind import GIVEN_KIND
from sqlext.spec.row_order import RowOrder
from sqlext.write.distinct_keys import require_distinct
from sqlext.write.refused_rows import NULL_KEY, REPEATED_KEY, TIED_KEY, UNKNOWN_ROW_KIND, accepted_rows
from sqlext.write.row_operation import DELETE, UPDATE
from sqlext.write.write_plan import WritePlan

_KINDS = ("+I", "-U", "+U", "-D")


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """Rows in the table's columns, of which no two have the same key; `updates` tells which are written, and not only
    delete the stored row of their key."""

    rows: pa.Table
    updates: NDArray[np.bool_]


def kinds_of(target: Target, given: GivenRows) -> pa.ChunkedArray | None:
    """The kinds of the rows: their own, or those in the column that the table names. Raises as `own_kind_column`."""
    own = own_kind_column(target)
    return given.kinds if own is None else given.rows.column(own)


def one_row_a_key(target: Target, given: GivenRows, plan: WritePlan) -> KeyedRows:
    """The changes that the rows are. Raises DataError NULL_IN_REQUIRED_COLUMN, DUPLICATE_KEY, SEQUENCE_TIE or
    INVALID_ROW_KIND, and AnalysisError INVALID_SEQUENCE_FIELD."""
    metadata = target.table.metadata
    schema, name = metadata.schema(), str(target.name)
    order = row_order(schema, metadata.properties, name)
    rows, kinds = kept_rows(target, given)
    keys = rows.select([field.name for field in schema.identifier_fields])
    if kinds is None and not order:
        require_no_null(keys, name)
        require_distinct(keys, name)
        return KeyedRows(rows, np.ones(rows.num_rows, np.bool_))
    if not rows.num_rows:
        return KeyedRows(rows, np.ones(0, np.bool_))
    kind = np.array(["+U"] * rows.num_rows, object) if kinds is None else kinds.to_numpy()
    operations, is_chosen = _operations(keys, kind, rows, order)
    named = pa.table(
        [pa.array(operations), *rows.columns, pa.array(kind, pa.string())],
        ["__operation", *rows.column_names, GIVEN_KIND],
    ).filter(pa.array(is_chosen))
    for batch in named.combine_chunks().to_batches():
        accepted_rows(plan, batch, 1)
    return KeyedRows(rows.filter(pa.array(is_chosen)), operations[is_chosen] == UPDATE)


def kept_rows(target: Target, given: GivenRows) -> tuple[pa.Table, pa.ChunkedArray | None]:
    """The rows and their kinds, without those of kinds that the table's properties ignore."""
    kinds, properties = kinds_of(target, given), target.table.metadata.properties
    passed_over = ["-U"] if IGNORE_UPDATE_BEFORE.of(properties) else []
    if IGNORE_DELETE.of(properties):
        passed_over = ["-U", "-D"]
    if kinds is None or not passed_over:
        return given.rows, kinds
    kept = pc.invert(pc.is_in(kinds, value_set=pa.array(passed_over)))
    return given.rows.filter(kept), kinds.filter(kept)


def require_no_null(keys: pa.Table, table: str) -> None:
    """Raises DataError NULL_IN_REQUIRED_COLUMN for a null in a key."""
    for name in keys.column_names:
        if keys.column(name).null_count:
            raise DataError("NULL_IN_REQUIRED_COLUMN", column=name, table=table)


def _operations(
    keys: pa.Table, kind: NDArray[np.object_], rows: pa.Table, order: RowOrder
) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """The operation of each row, or the code of a refusal, and which rows have one."""
    codes = codes_of(keys)
    count = int(codes.max()) + 1
    place = places(rows, order)
    last_place = np.full(count, -1, np.int64)
    np.maximum.at(last_place, codes, place)
    is_last = place == last_place[codes]
    of_key = np.bincount(codes[is_last], minlength=count)[codes]
    once = [np.bincount(codes[is_last & (kind == name)], minlength=count)[codes] == 1 for name in ("-U", "+U")]
    is_paired = (of_key == 2) & once[0] & once[1]
    has_null = np.zeros(rows.num_rows, np.bool_)
    for column in keys.columns:
        has_null |= column.is_null().to_numpy()
    brings = np.isin(kind.astype(str), ("+I", "+U"))
    # The first test that holds decides.
    tests = [
        (~np.isin(kind.astype(str), _KINDS), UNKNOWN_ROW_KIND),
        (has_null, NULL_KEY),
        (~is_last, 0),
        ((of_key > 1) & ~is_paired, TIED_KEY if order else REPEATED_KEY),
        (brings, UPDATE),
        (of_key == 1, DELETE),
    ]
    operations = np.select([test for test, _ in tests], [np.int8(code) for _, code in tests], np.int8(0))
    return operations.astype(np.int8), operations > 0


def places(rows: pa.Table, order: RowOrder) -> NDArray[np.int64]:
    """The place of each row in an order, equal for rows of equal values: nulls come first, in either direction."""
    if not order or not rows.num_rows:
        return np.zeros(rows.num_rows, np.int64)
    # Only this needs it, and it takes 100 ms to import.
    import polars as pl

    columns = [_orderable(rows.column(name)) for name in order.columns]
    table = pa.table(columns, [str(number) for number in range(len(columns))])
    frame = pl.DataFrame({name: pl.Series(pl.from_arrow(table.column(name))) for name in table.column_names})
    by = pl.arg_sort_by(frame.columns, descending=order.descending, nulls_last=False, maintain_order=True)
    sorted_rows = frame.select(by).to_series().to_numpy()
    codes = codes_of(table)[sorted_rows]
    place = np.empty(rows.num_rows, np.int64)
    place[sorted_rows] = np.cumsum(np.diff(codes, prepend=codes[0]) != 0)
    return place


def _orderable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_floating(column.type):
        return column
    if pc.any(pc.is_nan(column)).as_py():
        raise UnsupportedError("LOCAL_NEEDS_SPARK", what="The write", reason="NaN in a sequence field")
    return pc.add(column, pa.scalar(0, column.type))
