"""The way of a change to single rows, as the table's properties say."""

from __future__ import annotations

from sqlext.command.change.auto import auto
from sqlext.command.change.copy_on_write import copy_on_write
from sqlext.command.change.merge_on_read import merge_on_read
from sqlext.command.change.row_level import Target
from sqlext.command.change.strategy import Choice, RowChange
from sqlext.properties import AUTO, TableProperty, row_level_mode


def by_mode(target: Target, mode: TableProperty[str], change: RowChange) -> Choice:
    """The strategy for a change by a statement whose property is `mode`."""
    metadata = target.table.metadata
    if metadata.format_version < 2:
        return Choice("copy-on-write", "format version 1 has no delete files", copy_on_write, change)
    way = row_level_mode(mode, metadata.properties)
    reason = f"{mode.name} is {way}"
    if mode.name not in metadata.properties and way != AUTO:
        reason += " where it is not set"
    if way == AUTO:
        return Choice(AUTO, reason, auto, change)
    if way == "copy-on-write":
        return Choice("copy-on-write", reason, copy_on_write, change)
    return Choice("merge-on-read", reason, merge_on_read, change)
