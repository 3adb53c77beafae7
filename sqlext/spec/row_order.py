"""The order of the rows of one key (Paimon: `sequence.field`)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowOrder:
    """Ascending order by the values of `columns`, the first column first; nulls precede values, also if `descending`.

    Without columns there is no order.
    """

    columns: tuple[str, ...] = ()
    descending: bool = False

    def __bool__(self) -> bool:
        return bool(self.columns)


UNORDERED = RowOrder()
