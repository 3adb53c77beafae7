"""The union of many queries, as text."""

from __future__ import annotations

from collections.abc import Sequence

_UNION = "\nUNION ALL\n"
_MOST_IN_A_CHAIN = 32


def union_all(queries: Sequence[str]) -> str:
    """All rows of the queries; none for no query.

    Of many it is a tree, as Spark goes through a chain of them by one call of itself for each, and ends in a
    StackOverflowError at a thousand.
    """
    while len(queries) > _MOST_IN_A_CHAIN:
        chains = range(0, len(queries), _MOST_IN_A_CHAIN)
        queries = [f"({union_all(queries[one : one + _MOST_IN_A_CHAIN])})" for one in chains]
    return _UNION.join(queries)
