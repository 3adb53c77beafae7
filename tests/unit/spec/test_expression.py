from __future__ import annotations

from sqlext.spec.expression import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Comparison,
    In,
    IsNaN,
    IsNull,
    Not,
    NotIn,
    NotNaN,
    NotNull,
    Or,
    StartsWith,
    conjunction,
    conjuncts,
    negate,
    push_down_not,
    referenced_field_ids,
)

SMALL, LARGE = Comparison("<", 1, 5), Comparison(">=", 1, 5)


def test_negation_reaches_the_leaves() -> None:
    assert negate(And(SMALL, IsNull(2))) == Or(LARGE, NotNull(2))
    assert negate(Or(In(1, frozenset({1})), IsNaN(3))) == And(NotIn(1, frozenset({1})), NotNaN(3))
    assert negate(Not(SMALL)) == SMALL
    assert negate(AlwaysTrue()) == AlwaysFalse()


def test_not_remains_around_starts_with_only() -> None:
    prefix = StartsWith(1, "a")
    assert negate(prefix) == Not(prefix)
    assert negate(negate(prefix)) == prefix
    assert push_down_not(And(Not(Not(SMALL)), Not(prefix))) == And(SMALL, Not(prefix))


def test_conjunction_drops_what_is_always_true() -> None:
    assert conjunction([]) == AlwaysTrue()
    assert conjunction([AlwaysTrue(), SMALL]) == SMALL
    assert conjunction([SMALL, LARGE]) == And(SMALL, LARGE)
    assert conjunction([SMALL, AlwaysFalse()]) == AlwaysFalse()


def test_bind_fields_collects_ids() -> None:
    assert referenced_field_ids(Or(Not(SMALL), And(StartsWith(4, "a"), NotNull(7)))) == {1, 4, 7}
    assert referenced_field_ids(AlwaysTrue()) == set()


def test_conjuncts_are_the_parts_of_a_conjunction_in_order() -> None:
    parts = [Comparison("=", number, number) for number in range(5)]
    assert list(conjuncts(conjunction(parts))) == parts
    assert list(conjuncts(And(parts[0], And(Or(parts[1], parts[2]), parts[3])))) == [
        parts[0],
        Or(parts[1], parts[2]),
        parts[3],
    ]
    assert list(conjuncts(AlwaysTrue())) == [AlwaysTrue()]
