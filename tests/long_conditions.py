"""Conditions of any length or depth on a row of columns `id`, `a` and `s`, by the way in which they are long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class LongCondition:
    """`text` writes the condition with so many parts, `holds` is what it says of `id` and `a`.

    `nests` tells that its parts stand one in another. `size` is the number of parts that every statement takes.
    """

    text: Callable[[int], str]
    size: int
    nests: bool = False
    holds: Callable[[int, int], bool] = lambda id, a: a == 3


def _by_turns(size: int) -> str:
    opened = (f"(a = {1000 + n} OR " if n % 2 else f"(a <> {1000 + n} AND " for n in range(size))
    return "".join(opened) + "a = 3" + ")" * size


def _case_in_case(size: int) -> str:
    return "".join(f"CASE WHEN a = {1000 + n} THEN false ELSE " for n in range(size)) + "a = 3" + " END" * size


LONG_CONDITIONS = {
    "and": LongCondition(
        lambda n: " AND ".join([*(f"a <> {1000 + i}" for i in range(n)), "id <> 3"]), 600, holds=lambda id, a: id != 3
    ),
    "or": LongCondition(
        lambda n: " OR ".join([*(f"a = {1000 + i}" for i in range(n)), "id = 3"]), 600, holds=lambda id, a: id == 3
    ),
    "sum": LongCondition(lambda n: " + ".join(["a"] * n) + f" = {3 * n}", 250),
    "concatenation": LongCondition(lambda n: " || ".join(["s"] * n) + f" = '{'3' * n}'", 250),
    "case": LongCondition(
        lambda n: "CASE " + " ".join(f"WHEN a = {1000 + i} THEN false" for i in range(n)) + " ELSE a = 3 END", 500
    ),
    "in": LongCondition(lambda n: f"a IN (3, {', '.join(str(1000 + i) for i in range(n))})", 5_000),
    "union": LongCondition(
        lambda n: f"a IN (SELECT 3 {' '.join(f'UNION ALL SELECT {1000 + i}' for i in range(n))})", 20
    ),
    "not": LongCondition(lambda n: "NOT " * (n // 2 * 2) + "a = 3", 80, nests=True),
    "minus": LongCondition(lambda n: "- " * (n // 2 * 2) + "a = 3", 150, nests=True),
    "brackets": LongCondition(lambda n: "(" * n + "a" + ")" * n + " = 3", 250, nests=True),
    "calls": LongCondition(lambda n: "abs(" * n + "a" + ")" * n + " = 3", 100, nests=True),
    "by turns": LongCondition(_by_turns, 100, nests=True),
    "case in case": LongCondition(_case_in_case, 50, nests=True),
}
