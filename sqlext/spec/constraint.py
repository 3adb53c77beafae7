"""Constraints that rows are held to when they are written, as table properties: the format has no place for them.

`sqlext.check.<name>` has the SQL of a CHECK, `sqlext.varchar-length.<field id>` the length of a VARCHAR(n). They go by
field id, so that a renamed column keeps its length. Engines that know nothing of them write what they like.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

CHECK_PREFIX = "sqlext.check."
LENGTH_PREFIX = "sqlext.varchar-length."
_KEY_ENFORCED = "write.key.enforced"


@dataclass(frozen=True, slots=True)
class CheckConstraint:
    """A CHECK: rows for which `expression`, SQL over the table's columns, is false are refused; null passes."""

    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class RowRule:
    """A rule as writers test it: `test` is SQL over the table's columns, and false for a row that breaks the rule.

    `name` is the CHECK's name, or the column of a length `limit`. `columns` are those to show of an offending row.
    """

    name: str
    test: str
    columns: tuple[str, ...]
    limit: int | None = None


def check_constraints(properties: Mapping[str, str]) -> tuple[CheckConstraint, ...]:
    """The table's CHECKs by name."""
    return tuple(
        CheckConstraint(key.removeprefix(CHECK_PREFIX), properties[key])
        for key in sorted(properties)
        if key.startswith(CHECK_PREFIX)
    )


def varchar_lengths(properties: Mapping[str, str]) -> Mapping[int, int]:
    """Greatest number of characters by field id."""
    return {
        int(key.removeprefix(LENGTH_PREFIX)): int(text)
        for key, text in properties.items()
        if key.startswith(LENGTH_PREFIX)
    }


def is_constraint(name: str) -> bool:
    """Whether a property holds a CHECK or a length."""
    return name.startswith((CHECK_PREFIX, LENGTH_PREFIX))


def row_rule_properties(properties: Mapping[str, str]) -> Mapping[str, str]:
    """The properties that say which rows the table takes: rows that were written under others may not be committed."""
    return {key: text for key, text in properties.items() if is_constraint(key) or key == _KEY_ENFORCED}
