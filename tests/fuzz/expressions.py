"""Conditions and values with two meanings: text in Spark SQL, and what they are of plain Python rows."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Row: TypeAlias = Mapping[str, Any]
"""Values by column, where there are two relations with `t.` and the like before their names; `TARGET` has all rows."""

TARGET = "<target>"
"""Stands in an expression's text for the name of the table that the statement changes."""

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


COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    ">=": operator.ge,
}


def compared(left: Expression, sign: str, right: Expression) -> Expression:
    def of(row: Row) -> bool | None:
        one, two = left.of(row), right.of(row)
        return None if one is None or two is None else COMPARISONS[sign](one, two)

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
