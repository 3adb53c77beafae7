"""The data files that a query's filters on the hidden column `_file` leave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.spec.schema import Schema

_FILE = "_file"


def named_files(filters: Sequence[Sequence[Any]], schema: Schema) -> frozenset[str] | None:
    """Paths that satisfy every filter which says `_file` is one of some; None where none says so, or where the table
    has a column of that name. `filters` are conjuncts, as the shim encodes them."""
    if schema.column(_FILE, case_sensitive=False) is not None:
        return None
    left: frozenset[str] | None = None
    for described in filters:
        paths = _paths(described)
        if paths is not None:
            left = paths if left is None else left & paths
    return left


def _paths(described: Sequence[Any]) -> frozenset[str] | None:
    match described:
        case ["=", [column], str(path)] if column == _FILE:
            return frozenset({path})
        case ["in", [column], [*paths]] if column == _FILE:
            return frozenset(paths)
    return None
