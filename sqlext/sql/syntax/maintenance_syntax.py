"""ANALYZE TABLE, as Spark spells it, and OPTIMIZE and VACUUM, as Delta does.

ANALYZE TABLE table COMPUTE STATISTICS [NOSCAN | FOR COLUMNS column, … | FOR ALL COLUMNS]
OPTIMIZE table [FULL] [WHERE condition] [ZORDER BY (column, …)]
VACUUM table [RETAIN n HOURS] [DRY RUN]
"""

from __future__ import annotations

from sqlext.sql.statements.maintenance_statement import AnalyzeTable, Optimize, Vacuum
from sqlext.sql.statements.table_resolution import TableResolution
from sqlext.sql.syntax.sort_order_syntax import ZOrderColumns, parse_columns
from sqlext.sql.tokens.token_cursor import TokenCursor


def parse_analyze(cursor: TokenCursor, tables: TableResolution) -> AnalyzeTable | None:
    """The statement; None for a table that is not of a sqlext catalog, and for ANALYZE TABLES."""
    cursor.expect("ANALYZE")
    if not cursor.accept("TABLE"):
        return None
    table = tables.resolve(cursor.dotted_name("a table name"))
    if table is None:
        return None
    if cursor.at("PARTITION"):
        reason = (
            "the sizes of partitions are those of their files, which each scan knows. Leave PARTITION out, or use"
            f" CALL {table.catalog}.system.compute_partition_stats(…) for engines that read them from a file"
        )
        cursor.refuse("ANALYZE TABLE … PARTITION", reason)
    cursor.expect("COMPUTE", "STATISTICS")
    columns: tuple[tuple[str, ...], ...] | None = None
    if cursor.accept("FOR", "ALL", "COLUMNS"):
        columns = ()
    elif cursor.accept("FOR"):
        cursor.expect("COLUMNS")
        columns = (cursor.dotted_name("a column"),)
        while cursor.accept(","):
            columns = (*columns, cursor.dotted_name("a column"))
    else:
        cursor.accept("NOSCAN")
    cursor.expect_end()
    return AnalyzeTable(table, columns)


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
    z_order = _z_order(cursor) if cursor.accept("ZORDER", "BY") else ()
    cursor.expect_end()
    return Optimize(table, where, full, z_order)


def _z_order(cursor: TokenCursor) -> ZOrderColumns:
    """Columns, in brackets or not."""
    if cursor.at("("):
        return parse_columns(cursor)
    columns = [cursor.dotted_name("a column name")]
    while cursor.accept(","):
        columns.append(cursor.dotted_name("a column name"))
    return tuple(columns)


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
