"""OPTIMIZE and VACUUM, as Delta spells them.

OPTIMIZE table [FULL] [WHERE condition]
VACUUM table [RETAIN n HOURS] [DRY RUN]
"""

from __future__ import annotations

from sqlext.sql.statements.statement import Optimize, Vacuum
from sqlext.sql.statements.table_resolution import TableResolution
from sqlext.sql.tokens.token_cursor import TokenCursor


def parse_optimize(cursor: TokenCursor, tables: TableResolution) -> Optimize | None:
    """The statement; None for a table that is not of a sqlext catalog."""
    cursor.expect("OPTIMIZE")
    table = tables.resolve(cursor.dotted_name("a table name"))
    if table is None:
        return None
    full = cursor.accept("FULL")
    where = None
    if cursor.accept("WHERE"):
        where = cursor.slice_until(lambda: cursor.at("ZORDER", "BY"), "a condition")
    if cursor.at("ZORDER", "BY"):
        reason = "files are sorted by the table's sort order only; ALTER TABLE … WRITE ORDERED BY sets one"
        cursor.refuse("ZORDER BY", reason)
    cursor.expect_end()
    return Optimize(table, where, full)


def parse_vacuum(cursor: TokenCursor, tables: TableResolution) -> Vacuum | None:
    """The statement; None for a table that is not of a sqlext catalog."""
    cursor.expect("VACUUM")
    table = tables.resolve(cursor.dotted_name("a table name"))
    if table is None:
        return None
    hours = None
    if cursor.accept("RETAIN"):
        hours = cursor.integer("a number of hours")
        cursor.expect("HOURS")
    dry_run = cursor.accept("DRY", "RUN")
    cursor.expect_end()
    return Vacuum(table, hours, dry_run)
