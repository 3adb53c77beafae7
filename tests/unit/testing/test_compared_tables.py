"""Tables compared by key: what is equal, and what the report says."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sqlext.testing import TemporaryCatalog, assert_tables_equal, make_table, table_difference

NAN = float("nan")
UTC = timezone.utc
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (None, None),
        (NAN, NAN),
        (0.0, -0.0),
        (1, 1.0),
        (1, Decimal("1.00")),
        (Decimal("2.50"), Decimal("2.5")),
        (NOON, NOON.astimezone(timezone(timedelta(hours=5)))),
        (b"a", bytearray(b"a")),
        (UUID(int=1), str(UUID(int=1))),
        ([1, None, NAN], (1, None, NAN)),
        ({"x": 1, "y": None}, {"y": None, "x": 1}),
        ([{"x": [NAN]}], [{"x": [NAN]}]),
    ],
)
def test_values_that_are_equal(actual: Any, expected: Any) -> None:
    assert not table_difference([{"id": 1, "v": actual}], [{"id": 1, "v": expected}], key="id")
    assert not table_difference([{"id": 1, "v": actual}], [{"id": 1, "v": expected}])
    assert not table_difference([{"v": actual}], [{"v": expected}], key="v")


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (None, 0),
        (None, ""),
        (None, NAN),
        (NAN, 0.0),
        (True, 1),
        ("1", 1),
        (0.1, Decimal("0.1")),
        (Decimal("2.51"), Decimal("2.5")),
        (NOON, NOON.replace(tzinfo=None)),
        (NOON.replace(tzinfo=None), NOON.date()),
        (NOON, NOON + timedelta(microseconds=1)),
        (b"a", "a"),
        ([1, 2], [2, 1]),
        ([1], [1, None]),
        ({"x": 1}, {"x": 1, "y": None}),
        ({"x": {"y": 1}}, {"x": {"y": 2}}),
    ],
)
def test_values_that_differ(actual: Any, expected: Any) -> None:
    difference = table_difference([{"id": 1, "v": actual}], [{"id": 1, "v": expected}], key="id")
    (row,) = difference.different
    assert row.key == {"id": 1}
    assert list(row.columns) == ["v"]
    assert f"id=1: v is {actual!r}, expected {expected!r}" in str(difference)
    without_key = table_difference([{"id": 1, "v": actual}], [{"id": 1, "v": expected}])
    assert len(without_key.missing) == len(without_key.unexpected) == 1


def test_the_report_names_missing_unexpected_and_different_rows() -> None:
    actual = [{"id": 1, "a": "x", "b": 1}, {"id": 2, "a": "y", "b": 2}, {"id": 4, "a": "w", "b": 4}]
    expected = [{"id": 4, "a": "w", "b": 4}, {"id": 1, "a": "z", "b": 5}, {"id": 3, "a": None, "b": 3}]
    with pytest.raises(AssertionError) as caught:
        assert_tables_equal(actual, expected, key=["id"])
    assert str(caught.value).splitlines() == [
        "the tables differ, compared by id: 3 rows, expected 3",
        "missing rows: 1",
        "  id=3, a=None, b=3",
        "unexpected rows: 1",
        "  id=2, a='y', b=2",
        "different rows: 1",
        "  id=1: a is 'x', expected 'z'; b is 1, expected 5",
    ]


def test_the_report_is_bounded() -> None:
    difference = table_difference([], [{"id": number, "v": "x" * 10_000} for number in range(1_000)], key="id")
    assert len(difference.missing) == 1_000
    assert "and 990 more" in str(difference)
    assert len(str(difference)) < 3_000
    assert "and 999 more" in str(table_difference([{"id": 1}], [{"id": 2}] * 1_000, most_rows=1))


def test_rows_that_come_more_than_once() -> None:
    once, twice = [{"id": 1, "v": "a"}], [{"id": 1, "v": "a"}, {"id": 1, "v": "a"}]
    assert not table_difference(twice, twice, key="id")
    assert table_difference(twice, once, key="id").repeated == (({"id": 1}, 2, 1),)
    assert "id=1: 2 rows, 1 expected" in str(table_difference(twice, once, key="id"))
    assert "id=1: 1 row, 2 expected" in str(table_difference(once, twice, key="id"))
    assert str(table_difference(once, twice)).startswith(
        "the tables differ, compared by all columns: 1 row, expected 2"
    )
    assert table_difference(once, twice, key="id").repeated == (({"id": 1}, 1, 2),)
    assert table_difference(twice, once).unexpected == ({"id": 1, "v": "a"},)
    assert table_difference(once, twice).missing == ({"id": 1, "v": "a"},)
    other = table_difference(twice, [{"id": 1, "v": "a"}, {"id": 1, "v": "b"}], key="id")
    assert (other.missing, other.unexpected) == (({"id": 1, "v": "b"},), ({"id": 1, "v": "a"},))


def test_columns() -> None:
    actual, expected = [{"id": 1, "a": 1, "loaded_at": NOON}], [{"id": 1, "a": 1, "b": None}]
    difference = table_difference(actual, expected, key="id")
    assert (difference.missing_columns, difference.unexpected_columns) == (("b",), ("loaded_at",))
    assert not difference.different
    assert not table_difference(actual, expected, key="id", columns=["a"])
    # A column that only some dictionaries lack is null.
    assert not table_difference([{"id": 1, "a": None}, {"id": 2, "a": 1}], [{"id": 1}, {"id": 2, "a": 1}], key="id")
    with pytest.raises(ValueError, match="has a column c"):
        table_difference(actual, expected, key="id", columns=["c"])
    with pytest.raises(ValueError, match="no column b, which is of the key"):
        table_difference(actual, expected, key="b")


def test_empty_tables() -> None:
    empty = pa.table({"id": pa.array([], pa.int64())})
    assert not table_difference([], [])
    assert not table_difference([], empty, key="id")
    assert not table_difference(empty, [], key="id")
    assert table_difference(empty, pa.table({"x": pa.array([], pa.int64())})).missing_columns == ("x",)
    assert str(table_difference([], [])) == "the tables are equal: 0 rows"


def test_tolerance_of_floating_point_numbers() -> None:
    actual, expected = [{"id": 1, "v": 100.001, "n": 1}], [{"id": 1, "v": 100.0, "n": 1}]
    assert table_difference(actual, expected, key="id")
    assert not table_difference(actual, expected, key="id", atol=0.01)
    assert not table_difference(actual, expected, key="id", rtol=1e-4)
    assert table_difference([{"id": 1, "v": 2}], [{"id": 1, "v": 1}], key="id", atol=5)  # integers are exact
    for value in (NAN, float("inf")):
        assert table_difference([{"id": 1, "v": value}], [{"id": 1, "v": 0.0}], key="id", atol=5, rtol=5)
    with pytest.raises(ValueError, match="tolerance needs a key"):
        table_difference(actual, expected, atol=0.01)


def test_origins_of_rows() -> None:
    rows = [{"id": 1, "v": "a"}, {"id": 2, "v": None}]
    table = pa.Table.from_pylist(rows)
    batch = table.to_batches()[0]
    reader = pa.RecordBatchReader.from_batches(table.schema, [batch])
    frame = pd.DataFrame({"id": [1, 2], "v": ["a", None]})
    for origin in (rows, iter(rows), tuple(rows), table, batch, reader, frame, pl.from_arrow(table)):
        assert_tables_equal(origin, list(reversed(rows)), key="id")
    for wrong in (5, "rows", {"id": 1}, [1]):
        with pytest.raises(TypeError):
            table_difference(wrong, rows)


def test_a_table_brings_its_key(tmp_path: Path) -> None:
    lake = TemporaryCatalog.within(tmp_path).open()
    columns = "id BIGINT, at TIMESTAMP, day DATE, tags MAP<STRING, INT>, place STRUCT<x: DOUBLE, y: ARRAY<INT>>"
    rows = [{"id": 1, "at": NOON, "day": date(2026, 1, 31), "tags": [("a", 1)], "place": {"x": NAN, "y": [1, None]}}]
    table = make_table(lake, columns, name="db.t", key="id", rows=rows)
    expected = [{**rows[0], "tags": {"a": 1}, "at": NOON.astimezone(timezone(timedelta(hours=-3)))}]
    assert_tables_equal(table, expected)
    difference = table_difference(table, [{**expected[0], "tags": {"a": 2}}])
    assert difference.key == ("id",)
    assert "tags is {'a': 1}, expected {'a': 2}" in str(difference)


def test_a_key_in_a_struct() -> None:
    actual = [{"k": {"id": 1, "of": "a"}, "v": 1}, {"k": None, "v": 2}]
    difference = table_difference(actual, [{"k": {"id": 1, "of": "a"}, "v": 3}, {"k": None, "v": 2}], key="k.id")
    assert [row.key for row in difference.different] == [{"k.id": 1}]


def test_a_name_with_a_dot_is_a_column_before_it_is_a_field() -> None:
    assert not table_difference([{"k.id": 1, "v": NAN}], [{"k.id": 1, "v": NAN}], key="k.id")


@pytest.mark.parametrize("seed", range(20))
def test_a_changed_row_is_found_wherever_it_is(seed: int) -> None:
    rng = random.Random(seed)
    rows = [{"id": id, "v": rng.choice([None, NAN, 1.5, 2.5])} for id in rng.sample(range(1000), 50)]
    changed = [dict(row) for row in rows]
    at = rng.randrange(len(rows))
    changed[at]["v"] = 7.0
    rng.shuffle(changed)
    difference = table_difference(changed, rows, key="id")
    assert [row.key["id"] for row in difference.different] == [rows[at]["id"]], f"seed {seed}"
    assert (difference.missing, difference.unexpected, difference.repeated) == ((), (), ())
