"""CALL [catalog.]system.procedure([name =>] value, …). Values are slices: Spark evaluates them.

In `sqlext.system.procedure` the catalog is the current one, that of the first argument's table, or the only one.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlext.errors import NotFoundError, ParseError
from sqlext.sql.statements.statement import Argument, Call
from sqlext.sql.statements.table_resolution import TableResolution
from sqlext.sql.tokens.quoting import unquote_string
from sqlext.sql.tokens.token_cursor import TokenCursor

SYSTEM = "system"
_OF_PAIMON = "sys"
_ANY_CATALOG = "sqlext"


def parse_call(cursor: TokenCursor, tables: TableResolution) -> Call | None:
    """The statement, or None for a procedure of another catalog.

    Raises NotFoundError PROCEDURE_NOT_FOUND for one that is not in the namespace `system`.
    """
    cursor.expect("CALL")
    name = cursor.dotted_name("a procedure")
    if len(name) < 2 or name[-2].lower() != SYSTEM or len(name) > 3:
        _require_of_another(name, tables)
        return None
    given = name[0] if len(name) == 3 else tables.current[0]
    if given not in tables.catalogs and given != _ANY_CATALOG:
        return None
    cursor.expect("(")
    arguments: list[Argument] = []
    while not cursor.accept(")"):
        arguments.append(_parse_argument(cursor, arguments))
        if not cursor.accept(",") and not cursor.at(")"):
            cursor.fail("',' or ')'")
    cursor.expect_end()
    catalog = given if given in tables.catalogs else _catalog_of(arguments, tables)
    return None if catalog is None else Call(catalog, name[-1].lower(), tuple(arguments), tables.current)


def _require_of_another(name: Sequence[str], tables: TableResolution) -> None:
    """Spark would say that a catalog of sqlext has no procedures."""
    catalog = name[0] if name[0] in tables.catalogs else tables.current[0]
    if catalog in tables.catalogs and (name[0] == catalog or name[0].lower() == _OF_PAIMON):
        way_out = f"Procedures are in the namespace system: CALL {catalog}.system.{name[-1]}(…)"
        raise NotFoundError("PROCEDURE_NOT_FOUND", procedure=f"{name[-1]} in {name[-2]}", way_out=way_out)


def _parse_argument(cursor: TokenCursor, before: list[Argument]) -> Argument:
    name = None
    if cursor.peek(1).text == "=>":
        name = cursor.name("an argument").lower()
        cursor.expect("=>")
        if name in (one.name for one in before):
            raise ParseError("DUPLICATE_CLAUSES", clause=f"The argument {name}")
    elif before and before[-1].name is not None:
        cursor.fail("name => value, as the argument before has a name")
    return Argument(name, cursor.slice_until(lambda: cursor.at(",") or cursor.at(")"), "a value"))


def _catalog_of(arguments: list[Argument], tables: TableResolution) -> str | None:
    """The current catalog, the catalog of the table that the first argument names, or the only one."""
    if tables.current[0] in tables.catalogs:
        return tables.current[0]
    for argument in arguments[:1]:
        text = argument.value.text
        if text[:1] in ("'", '"'):
            first = TokenCursor(unquote_string(text)).name("a table name")
            if first in tables.catalogs:
                return first
    return next(iter(tables.catalogs)) if len(tables.catalogs) == 1 else None
