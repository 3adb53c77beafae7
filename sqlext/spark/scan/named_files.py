"""The data files that a query's filters on the metadata column `_file` select."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlext.spec.schema import Schema

_FILE = "_file"


def named_files(filters: Sequence[Sequence[Any]], schema: Schema) -> frozenset[str] | None:
    """Paths that match all filters of the form `_file` = or IN; None without such a filter, or if the table has a
    column of that name. `filters` are conjuncts, as encoded by the shim."""
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
