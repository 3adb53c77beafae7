"""Conditions and values with two meanings: text in Spark SQL, and what they are of plain Python rows."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Row: TypeAlias = Mapping[str, Any]
"""Values by column; the columns of a MERGE have `t.` and `s.` before their names."""

TYPES: Mapping[str, tuple[Any, ...]] = {
    "INT": (-3, 0, 1, 2, 7, 2147483647),
    "BIGINT": (-5, 0, 3, 4, 9223372036854775807),
    "STRING": ("", "a", "b", "it's", "žluť 🐎", "aaaaaaaaaaaaaaaaaaaaaaaaa"),
    "BOOLEAN": (True, False),
    "DOUBLE": (-2.5, 0.0, 0.5, 1e300),
    "DATE": ("1969-12-31", "2024-01-31", "2024-02-29"),
}


def literal(value: Any, type_: str) -> str:
    if value is None:
        return f"CAST(NULL AS {type_})"
    match type_:
        case "STRING":
            text = value.replace("'", "\\'")
            return f"'{text}'"
        case "BOOLEAN":
            return str(value).lower()
        case "DOUBLE":
            return f"{value!r}D"
        case "DATE":
            return f"DATE'{value}'"
    return f"{value}L" if type_ == "BIGINT" else str(value)


@dataclass(frozen=True)
class Expression:
    """`of` is the value for a row; null is None, and a condition is true, false or null."""

    sql: str
    of: Callable[[Row], Any]


def column(name: str) -> Expression:
    return Expression(name, lambda row: row[name])


def constant(value: Any, type_: str) -> Expression:
    return Expression(literal(value, type_), lambda row: value)


_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    ">=": operator.ge,
}


def compared(left: Expression, sign: str, right: Expression) -> Expression:
    def of(row: Row) -> bool | None:
        one, two = left.of(row), right.of(row)
        return None if one is None or two is None else _COMPARISONS[sign](one, two)

    return Expression(f"{left.sql} {sign} {right.sql}", of)


def same(left: Expression, right: Expression) -> Expression:
    return Expression(f"{left.sql} <=> {right.sql}", lambda row: left.of(row) == right.of(row))


def is_null(of: Expression) -> Expression:
    return Expression(f"{of.sql} IS NULL", lambda row: of.of(row) is None)


def negated(of: Expression) -> Expression:
    def value(row: Row) -> bool | None:
        inner = of.of(row)
        return None if inner is None else not inner

    return Expression(f"NOT ({of.sql})", value)


def both(left: Expression, right: Expression) -> Expression:
    def of(row: Row) -> bool | None:
        found = {left.of(row), right.of(row)}
        return False if False in found else None if None in found else True

    return Expression(f"({left.sql}) AND ({right.sql})", of)


def either(left: Expression, right: Expression) -> Expression:
    return Expression(f"({left.sql}) OR ({right.sql})", negated(both(negated(left), negated(right))).of)


def among(of: Expression, members: list[Any], type_: str) -> Expression:
    """IN, which is null where a member is null and none is equal."""

    def value(row: Row) -> bool | None:
        one = of.of(row)
        if one is None:
            return None
        return True if one in [m for m in members if m is not None] else None if None in members else False

    return Expression(f"{of.sql} IN ({', '.join(literal(m, type_) for m in members)})", value)


def random_condition(rng: random.Random, columns: Mapping[str, str], depth: int = 2) -> Expression:
    """Over columns, which have their types here by the names that expressions have for them."""
    if depth and rng.random() < 0.4:
        one, two = (random_condition(rng, columns, depth - 1) for _ in range(2))
        return rng.choice([lambda: both(one, two), lambda: either(one, two), lambda: negated(one)])()
    name = rng.choice(list(columns))
    type_, of = columns[name], column(name)
    alike = [other for other in columns if columns[other] == type_ and other != name]
    if alike and rng.random() < 0.25:
        other = column(rng.choice(alike))
        return rng.choice([compared(of, rng.choice(list(_COMPARISONS)), other), same(of, other)])
    value = random_value(rng, type_, nulls=0.05)
    choices = [
        compared(of, rng.choice(list(_COMPARISONS)), constant(value, type_)),
        same(of, constant(value, type_)),
        is_null(of),
        among(of, [random_value(rng, type_) for _ in range(3)], type_),
    ]
    return rng.choice(choices)


def random_value(rng: random.Random, type_: str, nulls: float = 0.2) -> Any:
    return None if rng.random() < nulls else rng.choice(TYPES[type_])


def random_expression(rng: random.Random, type_: str, columns: Mapping[str, str]) -> Expression:
    """A value of a type: a constant, or a column of the same type."""
    alike = [name for name in columns if columns[name] == type_]
    if alike and rng.random() < 0.5:
        return column(rng.choice(alike))
    return constant(random_value(rng, type_), type_)
