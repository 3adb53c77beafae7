"""The way of a change to single rows, as the table's properties say."""

from __future__ import annotations

from sqlext.command.row_level import Target, require_delete_files
from sqlext.command.strategy.merge_on_read import merge_on_read
from sqlext.command.strategy.strategy import Choice, RowChange
from sqlext.properties import TableProperty


def by_mode(target: Target, verb: str, mode: TableProperty[str], change: RowChange) -> Choice:
    """The strategy for a change by a statement of that verb, whose property is `mode`."""
    require_delete_files(target, verb)
    return Choice("merge-on-read", f"{mode.name} by default", merge_on_read, change)
