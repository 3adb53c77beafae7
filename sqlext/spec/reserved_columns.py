"""Names that a table's own columns do not get, as engines give every row hidden columns of these names.

Those of the spec's reserved field ids and of Iceberg's metadata columns, and Flink's name of a row's kind. A table of
another engine may have such a column all the same; it is read as the table's own.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlext.errors import AnalysisError

RESERVED_NAMES = frozenset(
    {
        "_change_ordinal",
        "_change_type",
        "_commit_snapshot_id",
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


def require_own_names(names: Iterable[str]) -> None:
    """AnalysisError RESERVED_COLUMN_NAME for the first that is reserved, in any case."""
    for name in names:
        if name.lower() in RESERVED_NAMES:
            raise AnalysisError("RESERVED_COLUMN_NAME", name=name)
