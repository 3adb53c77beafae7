"""The order of the rows of one key: which of two comes after the other."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowOrder:
    """The order by the values of `columns`, one after the other: of two rows the one with the larger value comes later,
    with `descending` the one with the smaller. A null comes before any value, either way.
    """

    columns: tuple[str, ...] = ()
    descending: bool = False

    def __bool__(self) -> bool:
        return bool(self.columns)


UNORDERED = RowOrder()
