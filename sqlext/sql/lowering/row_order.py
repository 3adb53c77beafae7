"""The order of rows in SQL: a row's place as a struct of the ordering values, and comparisons of places.

Places in a descending order are compared in reverse, and have a flag for null before each value, since nulls come first
in either direction.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlext.spec.row_order import RowOrder
from sqlext.sql.tokens.quoting import quote_identifier, quote_string


def place(order: RowOrder, values: Iterable[str] | None = None) -> str:
    """The place of a row; `values` are texts of the ordering values, by default of the row's own columns."""
    own = map(quote_identifier, order.columns) if values is None else values
    if not order.descending:
        return struct_of(own)
    return struct_of(text for value in own for text in (f"{value} IS NULL", value))


def is_later(order: RowOrder, one: str, other: str) -> str:
    """Whether the place `one` comes after the place `other`; null if either is."""
    return f"{one} {'<' if order.descending else '>'} {other}"


def last_of(order: RowOrder) -> str:
    """The aggregate function for the last of several places."""
    return "min" if order.descending else "max"


def last_first(order: RowOrder) -> str:
    """The direction of a place in an ORDER BY that puts the last row first."""
    return "ASC" if order.descending else "DESC"


def rank(order: RowOrder, partition: str) -> str:
    """The dense rank of a row's place among the rows of a partition, which grows with the place."""
    direction = "DESC" if order.descending else "ASC"
    by = ", ".join(f"{quote_identifier(name)} {direction} NULLS FIRST" for name in order.columns)
    return f"dense_rank() OVER (PARTITION BY {partition} ORDER BY {by})"


def struct_of(values: Iterable[str]) -> str:
    """A struct of the values, which Spark compares one after the other."""
    named = (f"{quote_string(f'v{number}')}, {value}" for number, value in enumerate(values))
    return f"named_struct({', '.join(named)})"
