"""Random conditions and values over columns, which have their types here by the names that expressions have for them.

`target` has the columns of the table that a statement changes; where it is given, subqueries are among the expressions.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from fuzz.expressions import (
    COMPARISONS,
    TYPES,
    Expression,
    among,
    both,
    column,
    compared,
    constant,
    either,
    is_null,
    negated,
    same,
)
from fuzz.subqueries import Relation, constants, exists, greatest, not_within, of_target, within

_SUBQUERIES = 0.12


def random_value(rng: random.Random, type_: str, nulls: float = 0.2) -> Any:
    return None if rng.random() < nulls else rng.choice(TYPES[type_])


def random_condition(
    rng: random.Random, columns: Mapping[str, str], target: Mapping[str, str] | None = None, depth: int = 2
) -> Expression:
    if depth and rng.random() < 0.4:
        one, two = (random_condition(rng, columns, target, depth - 1) for _ in range(2))
        return rng.choice([lambda: both(one, two), lambda: either(one, two), lambda: negated(one)])()
    if target and rng.random() < _SUBQUERIES:
        return _with_subquery(rng, columns, target)
    name = rng.choice(list(columns))
    type_, of = columns[name], column(name)
    alike = [other for other in columns if columns[other] == type_ and other != name]
    if alike and rng.random() < 0.25:
        other = column(rng.choice(alike))
        return rng.choice([compared(of, rng.choice(list(COMPARISONS)), other), same(of, other)])
    value = random_value(rng, type_, nulls=0.05)
    choices = [
        compared(of, rng.choice(list(COMPARISONS)), constant(value, type_)),
        same(of, constant(value, type_)),
        is_null(of),
        among(of, [random_value(rng, type_) for _ in range(3)], type_),
    ]
    return rng.choice(choices)


def random_expression(
    rng: random.Random, type_: str, columns: Mapping[str, str], target: Mapping[str, str] | None = None
) -> Expression:
    """A value of a type: a constant, a column of the same type, or a scalar subquery."""
    if target and rng.random() < _SUBQUERIES:
        outer = rng.choice(list(columns))
        relation = _relation(rng, (type_, columns[outer]), target)
        return greatest(relation, rng.choice([column(outer), None]))
    alike = [name for name in columns if columns[name] == type_]
    if alike and rng.random() < 0.5:
        return column(rng.choice(alike))
    return constant(random_value(rng, type_), type_)


def _with_subquery(rng: random.Random, columns: Mapping[str, str], target: Mapping[str, str]) -> Expression:
    name, outer = rng.choice(list(columns)), rng.choice(list(columns))
    of, correlated = column(name), column(outer)
    relation = _relation(rng, (columns[name], columns[outer]), target)
    choices = [
        lambda: within(of, relation),
        lambda: not_within(of, relation),
        lambda: exists(correlated, relation),
        lambda: compared(of, rng.choice(list(COMPARISONS)), greatest(relation, correlated)),
        lambda: compared(of, rng.choice(list(COMPARISONS)), greatest(relation, None)),
    ]
    return rng.choice(choices)()


def _relation(rng: random.Random, types: tuple[str, str], target: Mapping[str, str]) -> Relation:
    x, y = ([name for name in target if target[name] == type_] for type_ in types)
    if x and y and rng.random() < 0.4:
        return of_target(rng.choice(x), rng.choice(y))
    rows = [(random_value(rng, types[0]), random_value(rng, types[1])) for _ in range(rng.randrange(1, 4))]
    return constants(rows, types)
