"""How many rows Spark expects of a scan, by which it chooses how to join them."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from sqlext.spec.expression import And, Comparison, In, Predicate


def expected_rows(predicate: Predicate, key: Collection[int], rows: int) -> int:
    """Of a scan of files with so many `rows`: at most as many as there are values for the columns of a `key` (field
    ids) in its predicate.

    An estimate, since a key that is not enforced may have several rows. Rows are as many as there are if there is no
    key, or a column of it may have any value.
    """
    values: dict[int, int] = {}
    left = deque([predicate])
    while left:
        match left.popleft():
            case And(one, other):
                left.extend((one, other))
            case In(id, some):
                values[id] = min(len(some), values.get(id, len(some)))
            case Comparison(op="=", id=id):
                values[id] = 1
    if not key or not values.keys() >= set(key):
        return rows
    expected = 1
    for id in key:
        expected *= values[id]
    return min(expected, rows)
