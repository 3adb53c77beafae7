"""The values of a column in the rows of one key, and comparisons of values as in Spark."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class RowOfKey:
    """A given row's value of a column. `is_late`: it precedes the stored row; `takes`: it retracts its value."""

    value: Any
    is_late: bool = False
    takes: bool = False


@dataclass(frozen=True, slots=True)
class ValuesOfKey:
    """The values of the given rows that count, in the order of rows, and the `stored` value, None without a row."""

    rows: Sequence[RowOfKey]
    stored: Any
    is_stored: bool
    may_take: bool

    def values(self, chosen: Callable[[RowOfKey], bool]) -> list[Any]:
        """The values, none of them null, of the chosen rows."""
        return [row.value for row in self.rows if row.value is not None and chosen(row)]

    @property
    def has_value(self) -> bool:
        return any(row.value is not None for row in self.rows)

    def in_order(self) -> list[Any]:
        """All values that are not null, the stored one behind those of late rows."""
        return [value for value, _ in self.signed()]

    def signed(self) -> list[tuple[Any, bool]]:
        """As `in_order`, each value with whether it is taken back."""
        stored = [] if self.stored is None else [(self.stored, False)]
        rows = [row for row in self.rows if row.value is not None]
        return [
            *((row.value, row.takes) for row in rows if row.is_late),
            *stored,
            *((row.value, row.takes) for row in rows if not row.is_late),
        ]


def rank(value: Any) -> Any:
    """A key for comparisons as in Spark: NaN is the greatest number, and texts are compared by bytes."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value.encode() if isinstance(value, str) else value


def identity(value: Any) -> Any:
    """A hashable value that is equal for what Spark holds to be equal: NaN equals itself, and null does too."""
    match value:
        case float() if math.isnan(value):
            return (math.nan.hex(),)
        case dict():
            return tuple(map(identity, value.values()))
        case list() | tuple():
            return tuple(map(identity, value))
    return value
