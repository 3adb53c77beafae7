"""How many rows Spark expects of a scan by key."""

from __future__ import annotations

from typing import Any

import pytest

from sqlext.spark.scan.expected_rows import expected_rows
from sqlext.spec.expression import AlwaysTrue, And, Comparison, In, Not, Or, Predicate
from unit.scan.small_table import data_file

ONE, THREE = Comparison("=", 1, 5), In(2, frozenset({1, 2, 3}))


@pytest.mark.parametrize(
    ("predicate", "key", "expected"),
    [
        (ONE, (1,), 1),
        (And(THREE, Comparison(">", 3, 0)), (2,), 3),
        (And(ONE, THREE), (1, 2), 3),
        (And(And(In(1, frozenset(range(9))), ONE), THREE), (2, 1), 3),
        (In(1, frozenset(range(2_000))), (1,), 1_000),
        (In(1, frozenset()), (1,), 0),
        (ONE, (1, 2), 1_000),
        (ONE, (), 1_000),
        (Comparison("<", 1, 5), (1,), 1_000),
        (Or(ONE, THREE), (1,), 1_000),
        (Not(ONE), (1,), 1_000),
        (AlwaysTrue(), (1,), 1_000),
    ],
)
def test_values_of_the_whole_key_bound_it(predicate: Predicate, key: tuple[int, ...], expected: int) -> None:
    found = expected_rows(predicate, key, 1_000, [data_file("1.parquet", rows=1_000)])
    assert found == max(expected, 1_000 // 32)


def test_it_is_no_less_than_the_rows_of_files_with_one_key() -> None:
    five, six = bytes([5]), bytes([6])
    one_key: dict[str, Any] = {"lower_bounds": {1: five, 2: five}, "upper_bounds": {1: five, 2: six}}
    files = [data_file("1.parquet", rows=600, **one_key), data_file("2.parquet", rows=400)]
    assert expected_rows(ONE, (1,), 1_000, files) == 600
    assert expected_rows(And(ONE, THREE), (1, 2), 1_000, files) == 31
    assert expected_rows(ONE, (1,), 500, files) == 500
