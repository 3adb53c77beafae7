"""The source of a MERGE as a relation of a lowered SELECT."""

from __future__ import annotations

from sqlext.sql.bound_merge import UNNAMED_SOURCE
from sqlext.sql.statements.statement import Merge
from sqlext.sql.tokens.quoting import quote_identifier


def source_text(merge: Merge) -> str:
    """The source with its alias, for a FROM clause."""
    return f"{merge.source.text}{_alias(merge, merge.source_columns)}"


def marked_source_text(merge: Merge, marker: str) -> str:
    """The source with a further column `marker`, true in every row: an outer join has null there without source row."""
    if merge.source_alias is None and merge.source_name:
        # A subquery around a table without alias would hide the table's name.
        mark = f"(SELECT true AS {quote_identifier(marker)}) AS `__source_mark`"
        return f"({merge.source.text} CROSS JOIN {mark})"
    columns = (*merge.source_columns, marker) if merge.source_columns else ()
    rows = f"(SELECT *, true AS {quote_identifier(marker)} FROM {merge.source.text})"
    return f"{rows}{_alias(merge, columns)}"


def _alias(merge: Merge, columns: tuple[str, ...]) -> str:
    if merge.source_alias is None and merge.source_name:
        return ""
    listed = f"({', '.join(map(quote_identifier, columns))})" if columns else ""
    return f" AS {quote_identifier(merge.source_alias or UNNAMED_SOURCE)}{listed}"
