"""Rows that a batch of changes marks as refused, by operation codes above `INSERT`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlext.errors import DataError
from sqlext.spec.row_kind import GIVEN_KIND
from sqlext.spec.schema import Schema
from sqlext.write.alignment import Aligner
from sqlext.write.distinct_keys import NAMED_KEYS, named_keys
from sqlext.write.row_operation import INSERT
from sqlext.write.violated_rows import shortened
from sqlext.write.write_plan import WritePlan

REPEATED_KEY = 4
TIED_KEY = 5
UNKNOWN_ROW_KIND = 6
NULL_KEY = 7
RETRACTED_KEY = 8

_CONDITIONS = {
    REPEATED_KEY: "DUPLICATE_KEY",
    TIED_KEY: "SEQUENCE_TIE",
    UNKNOWN_ROW_KIND: "INVALID_ROW_KIND",
    RETRACTED_KEY: "RETRACTION_REFUSED",
}


def accepted_rows(plan: WritePlan, batch: pa.RecordBatch, operation_columns: int) -> pa.RecordBatch:
    """The batch without its column `GIVEN_KIND`, if it has one; `operation_columns` precede the table's columns.

    Raises DataError for the highest refusal code among the rows, with up to five of their keys: DUPLICATE_KEY,
    SEQUENCE_TIE, INVALID_ROW_KIND, RETRACTION_REFUSED, or NULL_IN_REQUIRED_COLUMN with the column.
    """
    codes = batch.column(0).to_numpy(zero_copy_only=False)
    has_kinds = batch.schema.names[-1] == GIVEN_KIND
    if len(codes) and codes.max() > INSERT:
        kinds = batch.column(batch.num_columns - 1) if has_kinds else None
        raise _refusal(plan, codes, batch.columns[operation_columns:], kinds)
    return batch.select(range(batch.num_columns - 1)) if has_kinds else batch


def _refusal(plan: WritePlan, codes: NDArray[np.int8], columns: list[pa.Array], kinds: pa.Array | None) -> DataError:
    code = int(codes.max())
    ids = frozenset(plan.identifier_field_ids)
    at = [number for number, field in enumerate(plan.schema.fields) if field.id in ids]
    fields = tuple(replace(plan.schema.fields[number], required=False) for number in at)
    rows = pa.array(codes == code)
    aligned = Aligner(Schema(fields), plan.table_name).align([columns[number].filter(rows) for number in at])
    keys = pa.Table.from_batches([aligned])
    if code == NULL_KEY:
        column = next(name for name in keys.column_names if keys.column(name).null_count)
        return DataError("NULL_IN_REQUIRED_COLUMN", column=column, table=plan.table_name)
    named = named_keys(keys.group_by(keys.column_names, use_threads=False).aggregate([]))
    if code == UNKNOWN_ROW_KIND:
        return DataError(_CONDITIONS[code], table=plan.table_name, keys=named, kinds=_named_kinds(kinds, rows))
    return DataError(_CONDITIONS[code], table=plan.table_name, keys=named)


def _named_kinds(kinds: pa.Array | None, rows: pa.Array) -> str:
    given = [] if kinds is None else kinds.filter(rows).unique().to_pylist()[:NAMED_KEYS]
    return ", ".join("null" if kind is None else f"'{shortened(kind)}'" for kind in given)
