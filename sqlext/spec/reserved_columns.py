"""Names that a table's own columns do not get, as rows have further columns of these names.

A table of another engine may have such a column all the same: it is read as the table's own, and nothing is written
until it is renamed.
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
"""Of the spec's reserved field ids, of Iceberg's metadata columns and of change feeds, and Flink's of a row's kind."""

WORKING_NAMES = frozenset({"__given_kind", "__operation", "__violated"})
"""Of columns that rows have on their way into a table, beside the table's own. Other such names begin with
`WORKING_PREFIX`, or are made different from all columns at hand."""

WORKING_PREFIX = "__sqlext_"


def is_reserved(name: str) -> bool:
    """Whether the name is reserved, in any case."""
    lower = name.lower()
    return lower in HIDDEN_NAMES or lower in WORKING_NAMES or lower.startswith(WORKING_PREFIX)


def require_own_names(names: Iterable[str]) -> None:
    """AnalysisError RESERVED_COLUMN_NAME for the first that is reserved."""
    for name in names:
        if is_reserved(name):
            raise AnalysisError("RESERVED_COLUMN_NAME", name=name)


def require_writable_names(names: Iterable[str], table: str) -> None:
    """AnalysisError RESERVED_COLUMN_IN_TABLE for the first column of a table that has a reserved name."""
    for name in names:
        if is_reserved(name):
            raise AnalysisError("RESERVED_COLUMN_IN_TABLE", name=name, table=table)
