"""DESCRIBE HISTORY and DESCRIBE DETAIL, as Delta spells them.

{DESC | DESCRIBE} HISTORY table [LIMIT n]
{DESC | DESCRIBE} DETAIL table
"""

from __future__ import annotations

from sqlext.sql.statements.description_statement import DescribeDetail, DescribeHistory
from sqlext.sql.statements.routine_statement import DescribeFunction, DescribeProcedure
from sqlext.sql.statements.table_resolution import TableResolution
from sqlext.sql.syntax.routine_syntax import parse_describe_routine
from sqlext.sql.tokens.token_cursor import TokenCursor


def parse_describe(
    cursor: TokenCursor, tables: TableResolution
) -> DescribeHistory | DescribeDetail | DescribeProcedure | DescribeFunction | None:
    """The statement; None for Spark's DESCRIBE, and for what is not of a sqlext catalog.

    To Spark `DESCRIBE HISTORY t` is the column t of a table HISTORY; as in Delta, it is the history of t.
    """
    what = cursor.peek(1).word
    if what not in ("HISTORY", "DETAIL") or cursor.peek(2).kind not in ("word", "quoted"):
        return parse_describe_routine(cursor, tables)
    cursor.position += 2
    table = tables.resolve(cursor.dotted_name("a table name"))
    if table is None:
        return None
    if what == "DETAIL":
        cursor.expect_end()
        return DescribeDetail(table)
    most = cursor.integer("a number of snapshots") if cursor.accept("LIMIT") else None
    cursor.expect_end()
    return DescribeHistory(table, most)
