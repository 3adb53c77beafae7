"""A row-level statement that gives the rows that it changed."""

from __future__ import annotations

from dataclasses import dataclass

from sqlext.sql.statements.statement import Delete, Insert, Merge, Slice, TableName, Update


@dataclass(frozen=True, slots=True)
class Returning:
    """A row-level statement with RETURNING: `items` is the list behind it, `old` and `new` name the row before and
    after the change."""

    statement: Insert | Delete | Update | Merge
    items: Slice
    old: str = "OLD"
    new: str = "NEW"

    @property
    def table(self) -> TableName:
        """The target of the statement."""
        return self.statement.table
