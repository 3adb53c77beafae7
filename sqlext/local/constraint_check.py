"""CHECKs and lengths of a table, tested on new rows before they are written."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sqlext.local.row_condition import row_condition
from sqlext.write.violated_rows import VIOLATED
from sqlext.write.write_plan import WritePlan


def with_violations(rows: pa.Table, plan: WritePlan, written: NDArray[np.bool_] | None = None) -> pa.Table:
    """The rows, which begin with the table's columns, with a last column `VIOLATED`; as they are if the table has no
    constraints.

    The write task refuses rows by it. Rows that are not `written`, by default all are, may break constraints. Raises
    UnsupportedError LOCAL_NEEDS_SPARK for a constraint that only Spark tests.
    """
    if not plan.rules:
        return rows
    rows = rows.combine_chunks()
    columns = {field.id: _whole(rows.column(at)) for at, field in enumerate(plan.schema.fields)}
    violated = np.full(rows.num_rows, -1, np.int32)
    for number, rule in enumerate(plan.rules):
        what = f"A write to {plan.table_name}, whose constraint {rule.name} is"
        truth = row_condition(rule.test, plan.schema, what).values(columns, rows.num_rows)
        broken = pc.fill_null(pc.invert(truth), False).to_numpy(zero_copy_only=False)
        broken = broken if written is None else broken & written
        violated[broken & (violated < 0)] = number
    found = pa.array(violated, pa.int32(), mask=violated < 0)
    return rows.append_column(VIOLATED, found)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays([pa.array([], column.type), *column.chunks])
