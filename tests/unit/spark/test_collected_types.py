"""Rows that come to the driver, in the types that Spark says."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sqlext.spark.query.driver_rows import _typed

NEVER = pa.struct([pa.field("x", pa.int32(), nullable=False)])


@pytest.mark.parametrize("holder", [NEVER, pa.struct([pa.field("inner", NEVER, nullable=False)])])
def test_a_struct_is_null_whose_fields_never_are(holder: pa.DataType) -> None:
    inner = pa.StructArray.from_arrays(
        [pa.array([1, None], pa.int32())], fields=list(NEVER), mask=pa.array([False, True])
    )
    column = inner
    if holder != NEVER:
        column = pa.StructArray.from_arrays([inner], fields=list(holder), mask=pa.array([False, True]))
    rows = pa.Table.from_arrays([column], schema=pa.schema([pa.field("s", holder)]))
    typed = _typed(rows, rows.schema)
    assert typed.column("s").to_pylist() == column.to_pylist()
    assert typed.column("s").to_pylist()[1] is None


def test_other_rows_keep_their_types() -> None:
    rows = pa.table({"s": pa.array([{"x": 1}], NEVER)})
    assert _typed(rows, rows.schema).schema == rows.schema
