"""Constraints on written rows, stored as table properties because the format has none; other engines ignore them.

`sqlext.check.<name>` is the SQL of a CHECK. `sqlext.varchar-length.<field id>` is the length of a VARCHAR(n), by field
id so that a renamed column keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

CHECK_PREFIX = "sqlext.check."
LENGTH_PREFIX = "sqlext.varchar-length."
_KEY_ENFORCED = "write.key.enforced"


@dataclass(frozen=True, slots=True)
class CheckConstraint:
    """A CHECK: a row is refused if `expression`, SQL over the table's columns, is false; null passes."""

    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class RowRule:
    """A constraint as writers test it: `test` is SQL over the table's columns, false for a row that violates it.

    `name` is the name of the CHECK, or the column whose length is at most `limit`. `columns` are shown in the error.
    """

    name: str
    test: str
    columns: tuple[str, ...]
    limit: int | None = None


def check_constraints(properties: Mapping[str, str]) -> tuple[CheckConstraint, ...]:
    """The CHECKs of a table, sorted by name."""
    return tuple(
        CheckConstraint(key.removeprefix(CHECK_PREFIX), properties[key])
        for key in sorted(properties)
        if key.startswith(CHECK_PREFIX)
    )


def varchar_lengths(properties: Mapping[str, str]) -> Mapping[int, int]:
    """The n of each VARCHAR(n), in characters, by field id. Raises ValueError for a property that is not a number."""
    return {
        int(key.removeprefix(LENGTH_PREFIX)): int(text)
        for key, text in properties.items()
        if key.startswith(LENGTH_PREFIX)
    }


def is_constraint(name: str) -> bool:
    """Whether `name` is the property of a CHECK or of a VARCHAR length."""
    return name.startswith((CHECK_PREFIX, LENGTH_PREFIX))


def row_rule_properties(properties: Mapping[str, str]) -> Mapping[str, str]:
    """The properties that constrain rows. Rows written while these had other values may not be committed."""
    return {key: text for key, text in properties.items() if is_constraint(key) or key == _KEY_ENFORCED}
