"""Subqueries in conditions and values: over rows that are written out, or over the table that a statement changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from fuzz.expressions import TARGET, Expression, Row, literal

Pair: TypeAlias = tuple[Any, Any]


@dataclass(frozen=True)
class Relation:
    """A relation `u` of two columns, `x` and `y`; `of` has its rows, given a row of the statement."""

    sql: str
    of: Callable[[Row], list[Pair]]


def constants(rows: list[Pair], types: tuple[str, str]) -> Relation:
    listed = ", ".join(f"({literal(x, types[0])}, {literal(y, types[1])})" for x, y in rows)
    return Relation(f"VALUES {listed} AS u(x, y)", lambda row: rows)


def of_target(x: str, y: str) -> Relation:
    """Two columns of the table that the statement changes, as they are before it."""
    text = f"(SELECT {x} AS x, {y} AS y FROM {TARGET}) AS u"
    return Relation(text, lambda row: [(one[x], one[y]) for one in row[TARGET]])


def within(of: Expression, relation: Relation) -> Expression:
    """IN, which is null where `of` is, or a row is and none is equal; over no rows it is false."""

    def value(row: Row) -> bool | None:
        members = [x for x, _ in relation.of(row)]
        one = of.of(row)
        if not members:
            return False
        if one is None:
            return None
        return True if one in [m for m in members if m is not None] else None if None in members else False

    return Expression(f"{of.sql} IN (SELECT x FROM {relation.sql})", value)


def not_within(of: Expression, relation: Relation) -> Expression:
    inner = within(of, relation)

    def value(row: Row) -> bool | None:
        found = inner.of(row)
        return None if found is None else not found

    return Expression(f"{of.sql} NOT IN (SELECT x FROM {relation.sql})", value)


def exists(outer: Expression, relation: Relation) -> Expression:
    """Whether a row has the value of the statement's row in `y`."""

    def value(row: Row) -> bool:
        one = outer.of(row)
        return one is not None and any(y == one for _, y in relation.of(row))

    return Expression(f"EXISTS (SELECT 1 FROM {relation.sql} WHERE u.y = {outer.sql})", value)


def greatest(relation: Relation, outer: Expression | None) -> Expression:
    """The largest `x`, of the rows that have the value of the statement's row in `y` where there is one."""

    def value(row: Row) -> Any:
        rows = relation.of(row)
        if outer is not None:
            one = outer.of(row)
            rows = [pair for pair in rows if one is not None and pair[1] == one]
        return max((x for x, _ in rows if x is not None), default=None)

    test = "" if outer is None else f" WHERE u.y = {outer.sql}"
    return Expression(f"(SELECT max(u.x) FROM {relation.sql}{test})", value)
