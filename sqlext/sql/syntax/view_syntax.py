"""CREATE, ALTER and DROP VIEW, and SHOW VIEWS, in Spark's spelling.

    CREATE [OR REPLACE] VIEW [IF NOT EXISTS] name [(column [COMMENT 'text'], …)] [clause …] AS query

Clauses come in any order: COMMENT, TBLPROPERTIES, WITH SCHEMA COMPENSATION. Temporary views are Spark's own.
"""

from __future__ import annotations

from sqlext.errors import ParseError
from sqlext.spec.name_case import require_distinct_names
from sqlext.sql.statements.statement import TableName
from sqlext.sql.statements.table_resolution import SPARK_CATALOG, TableResolution
from sqlext.sql.statements.view_statement import (
    AlterViewProperties,
    AlterViewQuery,
    CreateView,
    DropView,
    RenameView,
    ShowViews,
    ViewColumn,
    ViewStatement,
)
from sqlext.sql.syntax.property_syntax import parse_properties, parse_property_keys
from sqlext.sql.tokens.token_cursor import TokenCursor


def parse_create_view(cursor: TokenCursor, tables: TableResolution) -> CreateView | None:
    """The statement, or None for another object's CREATE or a view of another catalog."""
    if not cursor.accept("CREATE"):
        return None
    or_replace = cursor.accept("OR", "REPLACE")
    if not cursor.accept("VIEW"):
        return None
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = tables.resolve_view(cursor.dotted_name("a view name"))
    if name is None:
        return None
    if or_replace and if_not_exists:
        cursor.refuse("OR REPLACE with IF NOT EXISTS", "the two contradict each other. Leave one of them out")
    columns = _parse_columns(cursor) if cursor.at("(") else ()
    comment: str | None = None
    properties: dict[str, str] | None = None
    while not cursor.accept("AS"):
        if cursor.accept("COMMENT"):
            _require_first(comment is None, "COMMENT")
            comment = cursor.string("a comment")
        elif cursor.accept("TBLPROPERTIES"):
            _require_first(properties is None, "TBLPROPERTIES")
            properties = parse_properties(cursor)
        elif cursor.at("WITH", "SCHEMA"):
            _parse_schema_binding(cursor)
        elif cursor.at("PARTITIONED") or cursor.at("DEFAULT", "COLLATION") or cursor.at("WITH", "METRICS"):
            cursor.refuse(f"CREATE VIEW with {cursor.peek().word}", "an Iceberg view has no place for it. Leave it out")
        else:
            cursor.fail("COMMENT, TBLPROPERTIES, or AS and a query")
    query = cursor.written_to_end("a query")
    return CreateView(name, query, tables.current, columns, comment, properties or {}, if_not_exists, or_replace)


def parse_alter_view(cursor: TokenCursor, tables: TableResolution) -> ViewStatement | None:
    """The statement, or None for a view of another catalog."""
    if not cursor.accept("ALTER", "VIEW"):
        return None
    name = tables.resolve_view(cursor.dotted_name("a view name"))
    if name is None:
        return None
    if cursor.accept("RENAME", "TO"):
        to = _renamed(cursor, tables, name)
        cursor.expect_end()
        return RenameView(name, to)
    if cursor.accept("SET", "TBLPROPERTIES"):
        changed = parse_properties(cursor)
        cursor.expect_end()
        return AlterViewProperties(name, changed=changed)
    if cursor.accept("UNSET", "TBLPROPERTIES"):
        if_exists = cursor.accept("IF", "EXISTS")
        removed = parse_property_keys(cursor)
        cursor.expect_end()
        return AlterViewProperties(name, removed=removed, if_exists=if_exists)
    if cursor.at("WITH", "SCHEMA"):
        _parse_schema_binding(cursor)
        cursor.fail("AS and a query")
    if not cursor.accept("AS") and not cursor.at("SELECT"):
        cursor.fail("AS and a query, SET or UNSET TBLPROPERTIES, or RENAME TO")
    return AlterViewQuery(name, cursor.written_to_end("a query"), tables.current)


def parse_drop_view(cursor: TokenCursor, tables: TableResolution) -> DropView | None:
    """The statement, or None for a DROP of something else or of another catalog."""
    if not cursor.accept("DROP", "VIEW"):
        return None
    if_exists = cursor.accept("IF", "EXISTS")
    name = tables.resolve_view(cursor.dotted_name("a view name"))
    if name is None:
        return None
    cursor.expect_end()
    return DropView(name, if_exists)


def parse_show_views(cursor: TokenCursor, tables: TableResolution) -> ShowViews | None:
    """The statement, or None for a namespace of another catalog."""
    if not cursor.accept("SHOW", "VIEWS"):
        return None
    namespace: tuple[str, ...] | None = tables.current if tables.current[0] in tables.catalogs else None
    if cursor.accept("IN") or cursor.accept("FROM"):
        namespace = tables.resolve_namespace(cursor.dotted_name("a namespace"))
    if namespace is None or namespace[0] == SPARK_CATALOG:
        return None
    like = cursor.accept("LIKE")
    pattern = cursor.string("a pattern") if like or not cursor.at_end else None
    cursor.expect_end()
    return ShowViews(namespace, pattern)


def _parse_columns(cursor: TokenCursor) -> tuple[ViewColumn, ...]:
    cursor.expect("(")
    columns: list[ViewColumn] = []
    while True:
        name = cursor.name("a column name")
        columns.append(ViewColumn(name, cursor.string("a comment") if cursor.accept("COMMENT") else None))
        if not cursor.accept(","):
            break
    cursor.expect(")")
    require_distinct_names((column.name for column in columns), cursor.case_sensitive)
    return tuple(columns)


def _parse_schema_binding(cursor: TokenCursor) -> None:
    """Skips WITH SCHEMA COMPENSATION, by which every view is read: a column of another type is cast to the view's."""
    cursor.expect("WITH", "SCHEMA")
    if not cursor.accept("COMPENSATION"):
        cursor.refuse(
            f"WITH SCHEMA {cursor.peek().text}", "the view keeps its columns and types. Leave WITH SCHEMA out"
        )


def _renamed(cursor: TokenCursor, tables: TableResolution, name: TableName) -> TableName:
    """The new name; a single part is a name in the view's namespace, as in Spark's session catalog."""
    first = cursor.position
    written = cursor.dotted_name("a view name")
    to = TableName((*name.parts[:-1], *written), written) if len(written) == 1 else tables.resolve_view(written)
    if to is None or to.catalog != name.catalog:
        cursor.position = first
        cursor.refuse("RENAME TO another catalog", "a view stays in its catalog. Create it there, and drop this one")
    return to


def _require_first(first: bool, clause: str) -> None:
    if not first:
        raise ParseError("DUPLICATE_CLAUSES", clause=clause)
