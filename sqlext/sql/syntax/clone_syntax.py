"""SHALLOW CLONE, behind the name of CREATE TABLE, in Delta's spelling."""

from __future__ import annotations

from sqlext.sql.statements.clone_statement import ShallowClone
from sqlext.sql.statements.statement import TableName
from sqlext.sql.statements.table_resolution import TableResolution
from sqlext.sql.syntax.property_syntax import parse_properties
from sqlext.sql.tokens.quoting import quote_name
from sqlext.sql.tokens.token_cursor import TokenCursor


def at_clone(cursor: TokenCursor) -> bool:
    """Whether a CLONE clause begins here."""
    return cursor.at("CLONE") or cursor.at("SHALLOW", "CLONE") or cursor.at("DEEP", "CLONE")


def parse_clone(cursor: TokenCursor, tables: TableResolution, name: TableName, if_not_exists: bool) -> ShallowClone:
    """`SHALLOW CLONE source [VERSION AS OF version | TIMESTAMP AS OF time] [TBLPROPERTIES (…)]`."""
    if not cursor.at("SHALLOW"):
        cursor.refuse("A deep CLONE", "CREATE TABLE … LIKE and INSERT INTO … SELECT copy the rows. Write SHALLOW CLONE")
    cursor.expect("SHALLOW", "CLONE")
    named = cursor.dotted_name("a table name")
    source = tables.resolve(named)
    if source is None:
        cursor.refuse(f"A clone of {quote_name(named)}", "it is in no catalog of sqlext. Use CREATE TABLE … AS SELECT")
    version, timestamp = None, None
    if cursor.accept("VERSION", "AS", "OF"):
        version = cursor.string() if cursor.peek().kind == "string" else str(cursor.integer("the id of a snapshot"))
    elif cursor.accept("TIMESTAMP", "AS", "OF"):
        timestamp = cursor.slice_until(lambda: cursor.at("TBLPROPERTIES"), "a time")
    properties = parse_properties(cursor) if cursor.accept("TBLPROPERTIES") else {}
    cursor.expect_end()
    return ShallowClone(name, source, if_not_exists, version, timestamp, properties)
