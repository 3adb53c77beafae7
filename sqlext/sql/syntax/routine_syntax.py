"""SHOW PROCEDURES, DESCRIBE PROCEDURE and DESCRIBE FUNCTION, as Spark 4.1 spells them.

SHOW PROCEDURES [{FROM | IN} catalog[.system]]
{DESC | DESCRIBE} PROCEDURE [catalog.]system.name
{DESC | DESCRIBE} FUNCTION [EXTENDED] [catalog.]system.name
"""

from __future__ import annotations

from sqlext.sql.statements.routine_statement import DescribeFunction, DescribeProcedure, ShowProcedures
from sqlext.sql.statements.table_resolution import TableResolution
from sqlext.sql.syntax.call_syntax import SYSTEM
from sqlext.sql.tokens.token_cursor import TokenCursor


def parse_show_procedures(cursor: TokenCursor, tables: TableResolution) -> ShowProcedures | None:
    """The statement, or None for a catalog that is not sqlext's."""
    cursor.expect("SHOW", "PROCEDURES")
    catalog, namespace = tables.current[0], tables.current[1:]
    if cursor.accept("FROM") or cursor.accept("IN"):
        written = cursor.dotted_name("a namespace")
        found = tables.resolve_namespace(written)
        if found is None:
            return None
        catalog, namespace = found[0], found[1:]
    elif catalog in tables.catalogs:
        namespace = ()  # procedures are the catalog's, whatever the current namespace is
    cursor.expect_end()
    return ShowProcedures(catalog, namespace) if catalog in tables.catalogs else None


def parse_describe_routine(cursor: TokenCursor, tables: TableResolution) -> DescribeProcedure | DescribeFunction | None:
    """The statement; None if something else is described, or a routine of another catalog."""
    if not (cursor.accept("DESCRIBE") or cursor.accept("DESC")):
        return None
    is_procedure = cursor.accept("PROCEDURE")
    if not is_procedure and not cursor.accept("FUNCTION"):
        return None
    names_follow = cursor.peek(1).kind in ("word", "quoted", "string")
    extended = not is_procedure and names_follow and cursor.accept("EXTENDED")
    if cursor.peek().kind == "string":
        return None  # a built-in operator, such as '%'
    name = cursor.dotted_name("a name")
    if len(name) not in (2, 3) or name[-2].lower() != SYSTEM:
        return None
    catalog = name[0] if len(name) == 3 else tables.current[0]
    if catalog not in tables.catalogs:
        return None
    cursor.expect_end()
    routine = name[-1].lower()
    return DescribeProcedure(catalog, routine) if is_procedure else DescribeFunction(catalog, routine, extended)
