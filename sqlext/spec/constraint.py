"""Constraints on written rows, stored as table properties because the format has none; other engines ignore them.

`sqlext.check.<name>` is the SQL of a CHECK. `sqlext.varchar-length.<field id>` is the length of a VARCHAR(n), by field
id so that a renamed column keeps it, and `sqlext.generated.<field id>` the SQL of a column GENERATED ALWAYS AS.
`sqlext.spec.identity_column` has those of identity columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlext.spec.identity_column import IDENTITY_PREFIX, NextValues

CHECK_PREFIX = "sqlext.check."
LENGTH_PREFIX = "sqlext.varchar-length."
GENERATED_PREFIX = "sqlext.generated."
_KEY_ENFORCED = "write.key.enforced"


@dataclass(frozen=True, slots=True)
class CheckConstraint:
    """A CHECK: a row is refused if `expression`, SQL over the table's columns, is false; null passes."""

    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class RowRule:
    """A constraint as writers test it: `test` is SQL over the table's columns, false for a row that violates it.

    `name` is the name of the CHECK, or the column whose length is at most `limit`, or the column whose value is that of
    `generated`, SQL that also computes it where it is null, or an identity column to which rows without a value get one
    of `identity`. `columns` are shown in the error. `is_key`: an upsert needs a value in the identity column.
    """

    name: str
    test: str
    columns: tuple[str, ...]
    limit: int | None = None
    generated: str | None = None
    identity: NextValues | None = None
    is_key: bool = False


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


def generated_columns(properties: Mapping[str, str]) -> Mapping[int, str]:
    """The expression of each generated column, by field id. Raises ValueError for a property without a number."""
    return {
        int(key.removeprefix(GENERATED_PREFIX)): text
        for key, text in properties.items()
        if key.startswith(GENERATED_PREFIX)
    }


def is_constraint(name: str) -> bool:
    """Whether `name` is the property of a CHECK, of a VARCHAR length, of a generated or of an identity column."""
    return name.startswith((CHECK_PREFIX, LENGTH_PREFIX, GENERATED_PREFIX, IDENTITY_PREFIX))


def row_rule_properties(properties: Mapping[str, str]) -> Mapping[str, str]:
    """The properties that constrain rows. Rows written while these had other values may not be committed."""
    return {key: text for key, text in properties.items() if is_constraint(key) or key == _KEY_ENFORCED}
