"""Row changes compared with a model: a multiset of rows before and one after."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlext.scan.row_changes import row_changes

NAN = float("nan")
COLUMNS = pa.schema([("id", pa.int32()), ("v", pa.string()), ("d", pa.float64())])
ROWS = st.lists(
    st.tuples(st.sampled_from([None, 1, 2]), st.sampled_from([None, "", "a"]), st.sampled_from([None, NAN, 0.0, -0.0])),
    max_size=8,
)

Row = tuple[Any, ...]


def _table(rows: Sequence[Row], schema: pa.Schema = COLUMNS) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.table([pa.array(values, type) for values, type in zip(columns, schema.types, strict=True)], schema=schema)


def _compared(row: Row) -> Row:
    """The row in a form whose equality in Python is Spark's."""
    return tuple(("NaN" if math.isnan(value) else value + 0.0) if isinstance(value, float) else value for value in row)


def _found(went: Sequence[Row], came: Sequence[Row], key: Sequence[str]) -> Counter[Row]:
    changes = row_changes(_table(went), _table(came), key)
    assert changes.column_names == ["id", "v", "d", "_row_kind"]
    return Counter(_compared(tuple(row.values())) for row in changes.to_pylist())


def _model(went: Sequence[Row], came: Sequence[Row], places: Sequence[int]) -> Counter[Row]:
    before, after = Counter(map(_compared, went)), Counter(map(_compared, came))
    gone, new = before - after, after - before

    def keys(rows: Counter[Row]) -> Counter[Row]:
        return Counter(tuple(row[place] for place in places) for row in rows.elements())

    keys_gone, keys_new = keys(gone), keys(new)
    changes: Counter[Row] = Counter()
    for rows, alone, paired in ((gone, "-D", "-U"), (new, "+I", "+U")):
        for row in rows.elements():
            key = tuple(row[place] for place in places)
            updates = bool(places) and keys_gone[key] == keys_new[key] == 1
            changes[(*row, paired if updates else alone)] += 1
    return changes


@given(ROWS, ROWS, st.sampled_from([(), (0,), (0, 1), (2,)]))
def test_changes_are_those_of_the_model(went: list[Row], came: list[Row], places: tuple[int, ...]) -> None:
    assert _found(went, came, [COLUMNS.names[place] for place in places]) == _model(went, came, places)


def test_values_are_as_they_were() -> None:
    """Changes have the stored values, such as -0.0, though they are compared as equal."""
    changes = row_changes(_table([(1, "a", -0.0)]), _table([(1, "b", 0.0)]), ["id"])
    assert [str(value) for value in changes.column("d").to_pylist()] == ["-0.0", "0.0"]
    assert changes.column("_row_kind").to_pylist() == ["-U", "+U"]


@given(ROWS, ROWS)
def test_the_rows_of_an_update_follow_each_other(went: list[Row], came: list[Row]) -> None:
    rows = row_changes(_table(went), _table(came), ["id"]).to_pylist()
    kinds = [row["_row_kind"] for row in rows]
    for place, kind in enumerate(kinds):
        if kind == "-U":
            assert kinds[place + 1] == "+U"
            assert rows[place]["id"] == rows[place + 1]["id"]


@pytest.mark.parametrize(
    ("type", "values"),
    [
        (pa.bool_(), [True, False, None]),
        (pa.int64(), [2**63 - 1, -(2**63), None]),
        (pa.float32(), [1.5, NAN, None]),
        (pa.decimal128(38, 2), [Decimal("1.00"), Decimal("-99999999999999999999.99"), None]),
        (pa.date32(), [datetime.date(1, 1, 1), datetime.date(9999, 12, 31), None]),
        (pa.timestamp("us", "UTC"), [datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc), None]),
        (pa.binary(), [b"", b"\x00", None]),
        (pa.list_(pa.int32()), [[1, 2], [1], [2], [], [None], None]),
        (pa.list_(pa.list_(pa.string())), [[["a"], []], [["a"]], [[], ["a"]], [None, ["a"]], None]),
        (pa.struct([("a", pa.int32()), ("b", pa.string())]), [{"a": 1, "b": "x"}, {"a": 1, "b": None}, {}, None]),
        (pa.list_(pa.struct([("a", pa.float64())])), [[{"a": 1.0}], [{"a": NAN}], [{"a": None}], [None], []]),
    ],
)
def test_each_type(type: pa.DataType, values: list[Any]) -> None:
    """For each type an unchanged row is no change, and a deleted one is."""
    schema = pa.schema([("v", type)])
    rows = [(value,) for value in values]
    assert row_changes(_table(rows, schema), _table(rows[::-1], schema), ["v"]).num_rows == 0
    gone = row_changes(_table([*rows, rows[0]], schema), _table(rows, schema), ["v"])
    assert gone.column("_row_kind").to_pylist() == ["-D"]
    assert gone.column("v").to_pylist() == values[:1]
