"""Which predicates say the keys of the rows that match, and which keys these are."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sqlext.spark.scan.rows_of_keys import keys_sought
from sqlext.spec.expression import AlwaysFalse, AlwaysTrue, And, Comparison, In, Not, Or, Predicate
from sqlext.spec.types import DateType, DecimalType, IntegerType, LongType, NestedField, StringType

NUMBER, TEXT, DAY = NestedField(1, "n", LongType()), NestedField(2, "s", StringType()), NestedField(3, "d", DateType())
BOTH = And(In(1, frozenset({2, 1})), Comparison("=", 2, "a"))


@pytest.mark.parametrize(
    ("predicate", "keys"),
    [
        (BOTH, [(1, "a"), (2, "a")]),
        (And(BOTH, Comparison(">", 3, 7)), [(1, "a"), (2, "a")]),
        (And(In(1, frozenset({2, 1})), In(2, frozenset({"b", "a"}))), [(1, "a"), (1, "b"), (2, "a"), (2, "b")]),
        (And(BOTH, In(1, frozenset())), []),
        (Comparison("=", 1, 5), None),
        (And(Comparison("=", 1, 5), Comparison(">", 2, "a")), None),
        (Or(BOTH, Comparison("=", 1, 5)), None),
        (And(Not(Comparison("=", 1, 5)), Comparison("=", 2, "a")), None),
        (AlwaysTrue(), None),
        (AlwaysFalse(), None),
    ],
)
def test_each_column_of_the_key_has_values(predicate: Predicate, keys: list[tuple[int, str]] | None) -> None:
    found = keys_sought(predicate, (NUMBER, TEXT))

    if keys is None or found is None:
        assert found is keys
    else:
        assert list(zip(*(column.to_pylist() for column in found.columns), strict=True)) == keys


def test_many_keys_are_not_looked_up() -> None:
    sides = And(In(1, frozenset(range(64))), In(3, frozenset(range(64))))
    found = keys_sought(sides, (NUMBER, DAY))
    assert found is not None
    assert found.num_rows == 4096
    assert keys_sought(And(In(1, frozenset(range(65))), In(3, frozenset(range(64)))), (NUMBER, DAY)) is None


def test_a_value_that_the_column_cannot_hold_is_left_to_spark() -> None:
    assert keys_sought(Comparison("=", 1, 2**63), (NUMBER,)) is None
    assert keys_sought(Comparison("=", 1, 2**40), (NestedField(1, "n", IntegerType()),)) is None
    assert keys_sought(Comparison("=", 1, Decimal("1.005")), (NestedField(1, "n", DecimalType(12, 2)),)) is None


def test_a_table_without_a_key_has_none() -> None:
    assert keys_sought(Comparison("=", 1, 5), ()) is None
