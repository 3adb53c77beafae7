"""The order of rows in SQL: a struct of the ordering values, and how two of them are compared.

The structs of a descending order are compared the other way round, and have before each value whether it is null, as a
null comes first in either direction.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlext.spec.row_order import RowOrder
from sqlext.sql.tokens.quoting import quote_identifier, quote_string


def place(order: RowOrder, values: Iterable[str] | None = None) -> str:
    """The place of a row; `values` are texts of the ordering values, those of the row's own columns if not given."""
    own = map(quote_identifier, order.columns) if values is None else values
    if not order.descending:
        return struct_of(own)
    return struct_of(text for value in own for text in (f"{value} IS NULL", value))


def is_later(order: RowOrder, one: str, other: str) -> str:
    """Whether the place `one` comes after the `other`; null where one of them is."""
    return f"{one} {'<' if order.descending else '>'} {other}"


def last_of(order: RowOrder) -> str:
    """The aggregate function that gives the last of several places."""
    return "min" if order.descending else "max"


def last_first(order: RowOrder) -> str:
    """What stands behind a place in ORDER BY for the last row to come first."""
    return "ASC" if order.descending else "DESC"


def rank(order: RowOrder, partition: str) -> str:
    """A number that grows with the place among the rows of a partition, and is the same for equal places."""
    direction = "DESC" if order.descending else "ASC"
    by = ", ".join(f"{quote_identifier(name)} {direction} NULLS FIRST" for name in order.columns)
    return f"dense_rank() OVER (PARTITION BY {partition} ORDER BY {by})"


def struct_of(values: Iterable[str]) -> str:
    """Values that are compared one after the other."""
    named = (f"{quote_string(f'v{number}')}, {value}" for number, value in enumerate(values))
    return f"named_struct({', '.join(named)})"
