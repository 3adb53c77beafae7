"""Reserved column names: metadata columns of tables and of change feeds, and columns that sqlext adds to rows.

A table of another engine may have a column of such a name. It can be read, and written only after a rename.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlext.errors import AnalysisError

HIDDEN_NAMES = frozenset(
    {
        "_change_ordinal",
        "_change_type",
        "_commit_snapshot_id",
        "_commit_timestamp",
        "_commit_version",
        "_deleted",
        "_deleted_by_key",
        "_file",
        "_last_updated_sequence_number",
        "_partition",
        "_pos",
        "_row_id",
        "_row_kind",
        "_spec_id",
    }
)
"""The columns of the spec's reserved field ids, Iceberg's metadata columns, columns of change feeds, the row kind."""

WORKING_NAMES = frozenset({"__given_kind", "__operation", "__violated"})
"""Columns that rows have beside the table's until they are written. Other such names begin with `WORKING_PREFIX`, or
are chosen different from all present columns."""

WORKING_PREFIX = "__sqlext_"


def is_reserved(name: str) -> bool:
    """Whether `name` is reserved, without regard to case."""
    lower = name.lower()
    return lower in HIDDEN_NAMES or lower in WORKING_NAMES or lower.startswith(WORKING_PREFIX)


def require_own_names(names: Iterable[str]) -> None:
    """Raises AnalysisError RESERVED_COLUMN_NAME for the first reserved name."""
    for name in names:
        if is_reserved(name):
            raise AnalysisError("RESERVED_COLUMN_NAME", name=name)


def require_writable_names(names: Iterable[str], table: str) -> None:
    """Raises AnalysisError RESERVED_COLUMN_IN_TABLE for the first of the table's column `names` that is reserved."""
    for name in names:
        if is_reserved(name):
            raise AnalysisError("RESERVED_COLUMN_IN_TABLE", name=name, table=table)
