"""Rows that a batch of changes marks as refused, by operation codes behind the three that are carried out."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from sqlext.errors import DataError
from sqlext.spec.schema import Schema
from sqlext.write.alignment import Aligner
from sqlext.write.distinct_keys import named_keys
from sqlext.write.row_operation import INSERT
from sqlext.write.write_plan import WritePlan

REPEATED_KEY = 4
TIED_KEY = 5
UNKNOWN_ROW_KIND = 6
NULL_KEY = 7

_CONDITIONS = {
    REPEATED_KEY: "DUPLICATE_KEY",
    TIED_KEY: "SEQUENCE_TIE",
    UNKNOWN_ROW_KIND: "INVALID_ROW_KIND",
}


def require_no_refused(plan: WritePlan, operations: pa.Array, columns: list[pa.Array]) -> None:
    """DataError for the first kind of refusal among the rows, naming up to five of their keys.

    `columns` are the table's. Errors: NULL_IN_REQUIRED_COLUMN, INVALID_ROW_KIND, DUPLICATE_KEY, SEQUENCE_TIE.
    """
    codes = operations.to_numpy(zero_copy_only=False)
    if not len(codes) or codes.max() <= INSERT:
        return
    code = int(codes.max())
    ids = frozenset(plan.identifier_field_ids)
    at = [number for number, field in enumerate(plan.schema.fields) if field.id in ids]
    fields = tuple(replace(plan.schema.fields[number], required=False) for number in at)
    rows = pa.array(codes == code)
    aligned = Aligner(Schema(fields), plan.table_name).align([columns[number].filter(rows) for number in at])
    keys = pa.Table.from_batches([aligned])
    if code == NULL_KEY:
        column = next(name for name in keys.column_names if keys.column(name).null_count)
        raise DataError("NULL_IN_REQUIRED_COLUMN", column=column, table=plan.table_name)
    distinct = keys.group_by(keys.column_names, use_threads=False).aggregate([])
    raise DataError(_CONDITIONS[code], table=plan.table_name, keys=named_keys(distinct))
