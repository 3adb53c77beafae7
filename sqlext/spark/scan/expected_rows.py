"""How many rows Spark expects of a scan, by which it chooses how to join them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from math import prod

from sqlext.spec.expression import Comparison, In, Predicate, conjuncts
from sqlext.spec.manifests.content_file import ContentFile

# Keys need not be unique. Spark broadcasts at most so many times the size that it expects, whatever the rows are.
_MOST_UNDERSTATED = 32


def expected_rows(predicate: Predicate, key: Collection[int], rows: int, files: Iterable[ContentFile]) -> int:
    """Of a scan of `files` with so many `rows`: at most as many as there are values for the columns of a `key` (field
    ids) in its predicate.

    An estimate, since a key that is not enforced may have several rows. It is at least a 32nd of the rows, and counts
    all of a file that has one key alone by its bounds. Rows are as many as there are if there is no key, or a column of
    it may have any value.
    """
    values: dict[int, int] = {}
    for one in conjuncts(predicate):
        match one:
            case In(id, some):
                values[id] = min(len(some), values.get(id, len(some)))
            case Comparison(op="=", id=id):
                values[id] = 1
    if not key or not values.keys() >= set(key):
        return rows
    expected = prod(values[id] for id in key)
    of_one_key = sum(file.record_count for file in files if all(_has_one_value(file, id) for id in key))
    return min(max(expected, of_one_key, rows // _MOST_UNDERSTATED), rows)


def _has_one_value(file: ContentFile, id: int) -> bool:
    """Whether all values of the column are equal. Bounds of longer ones, which are cut, never are."""
    lower = (file.lower_bounds or {}).get(id)
    return lower is not None and lower == (file.upper_bounds or {}).get(id)
