"""The text of a sort order, as procedures take it: `id DESC NULLS LAST, bucket(4, name)`, or `zorder(a, b)`."""

from __future__ import annotations

from sqlext.sql.statements.statement import SortTerm
from sqlext.sql.syntax.transform_syntax import parse_sort_term
from sqlext.sql.tokens.token_cursor import TokenCursor

ZOrderColumns = tuple[tuple[str, ...], ...]


def parse_sort_order(text: str) -> tuple[SortTerm, ...] | ZOrderColumns:
    """The terms, or the columns of z-order terms. Raises ParseError, also for a mixture of both."""
    cursor = TokenCursor(text)
    terms: list[SortTerm] = []
    columns: list[tuple[str, ...]] = []
    while True:
        if cursor.peek().text.upper() == "ZORDER" and cursor.peek(1).text == "(":
            cursor.expect("ZORDER")
            columns += parse_columns(cursor)
        else:
            terms.append(parse_sort_term(cursor))
        if not cursor.accept(","):
            break
    if terms and columns:
        cursor.refuse("zorder beside other terms of a sort order", "z-values are the whole order. Use one of them")
    cursor.expect_end()
    return tuple(columns) if columns else tuple(terms)


def parse_columns(cursor: TokenCursor) -> ZOrderColumns:
    """Names of columns in brackets."""
    cursor.expect("(")
    columns = [cursor.dotted_name("a column name")]
    while cursor.accept(","):
        columns.append(cursor.dotted_name("a column name"))
    cursor.expect(")")
    return tuple(columns)
