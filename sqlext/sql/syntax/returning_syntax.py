"""RETURNING at the end of a row-level statement, in PostgreSQL's spelling."""

from __future__ import annotations

from sqlext.sql.statements.returning_statement import Returning
from sqlext.sql.statements.statement import Delete, Insert, Merge, Update
from sqlext.sql.tokens.token_cursor import Token, TokenCursor

# Before RETURNING stands what an expression or a name ends with; none of these words does.
_NO_END = frozenset(
    {"SELECT", "DISTINCT", "ALL", "FROM", "JOIN", "WHERE", "AND", "OR", "NOT", "BY", "AS", "ON", "IN", "IS"}
    | {"LIKE", "ILIKE", "RLIKE", "BETWEEN", "SET", "HAVING", "USING", "WHEN", "THEN", "ELSE", "CASE", "VALUES"}
    | {"WITH", "LIMIT", "OFFSET", "DIV", "ESCAPE", "UPDATE", "INTO", "TABLE", "UNION", "EXCEPT", "INTERSECT"}
    | {"MINUS", "LATERAL", "OF", "QUALIFY"}
)
# Behind a column or an alias of this name stands one of these, or nothing.
_NO_START = frozenset(
    {"FROM", "WHERE", "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "ANTI", "SEMI", "NATURAL", "ON"}
    | {"USING", "GROUP", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "HAVING", "LIMIT", "OFFSET", "UNION", "EXCEPT"}
    | {"INTERSECT", "MINUS", "LATERAL", "TABLESAMPLE", "PIVOT", "UNPIVOT", "WINDOW", "WHEN", "THEN", "AND", "OR"}
    | {"IS", "IN", "LIKE", "ILIKE", "RLIKE", "BETWEEN", "AS", "ASC", "DESC", "NULLS", "SET", "END", "ELSE", "DIV"}
    | {"VALUES", "SELECT", "QUALIFY"}
)
# What may follow the list of a SELECT, and does not follow that of RETURNING.
_CLAUSES = frozenset(
    {"FROM", "WHERE", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET", "WINDOW"}
    | {"UNION", "EXCEPT", "INTERSECT", "MINUS", "LATERAL", "QUALIFY", "USING", "INTO"}
)
# IS DISTINCT FROM; WITHIN GROUP (…); a name behind AS.
_NO_CLAUSE_BEHIND = frozenset({"AS", "DISTINCT", "WITHIN"})
_OPERATOR_WORDS = frozenset({"AND", "OR", "NOT", "IS", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "BETWEEN", "DIV"})
_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")


def cut_returning(cursor: TokenCursor) -> TokenCursor | None:
    """Ends the statement before its RETURNING; the cursor behind the word. None if there is no such clause.

    The word may also be a column's or an alias's name: a clause has an expression behind it, and before it stands what
    ends one, outside of all brackets.
    """
    depth, found = 0, None
    ahead = 0
    while (token := cursor.peek(ahead)).kind != "end":
        if token.text in _OPENING:
            depth += 1
        elif token.text in _CLOSING:
            depth -= 1
        elif token.word == "RETURNING" and depth == 0 and ahead and _is_clause(cursor, ahead):
            found = ahead
        ahead += 1
    return None if found is None else cursor.cut(cursor.position + found)


def _is_clause(cursor: TokenCursor, ahead: int) -> bool:
    before, after = cursor.peek(ahead - 1), cursor.peek(ahead + 1)
    ends = before.text in _CLOSING or before.text == "*" if before.kind == "symbol" else before.word not in _NO_END
    if before.text == "*" and cursor.peek(ahead - 2).word not in ("SELECT", "SET", "INSERT", "DISTINCT", "ALL"):
        ends = cursor.peek(ahead - 2).text in (",", ".")
    return ends and _begins(after)


def _begins(token: Token) -> bool:
    if token.kind == "symbol":
        return token.text in ("*", "(", "-", "+", "~", "!")
    return token.kind not in ("end", "hint") and token.word not in _NO_START


def parse_returning(cursor: TokenCursor, statement: Insert | Delete | Update | Merge) -> Returning:
    """`[WITH (OLD AS name, NEW AS name)] expression [AS name], …`, behind RETURNING.

    Raises ParseError for what else a SELECT may have: DISTINCT, and clauses behind the list.
    """
    names = {"OLD": "OLD", "NEW": "NEW"}
    if cursor.accept("WITH", "("):
        while True:
            if not (cursor.at("OLD") or cursor.at("NEW")):
                cursor.fail("OLD or NEW")
            which = cursor.name().upper()
            cursor.expect("AS")
            names[which] = cursor.name("a name for the row")
            if not cursor.accept(","):
                break
        cursor.expect(")")
    _require_list(cursor)
    items = cursor.slice_to_end("a list of columns, or *")
    return Returning(statement, items, names["OLD"], names["NEW"])


def _require_list(cursor: TokenCursor) -> None:
    """Raises ParseError at the first token that a list of expressions cannot have."""
    expected = "expressions, and nothing behind them. A name that is a word of SQL needs backticks, or AS before it"
    depth, ahead = 0, 0
    if cursor.at("DISTINCT") or cursor.at("ALL"):
        cursor.fail(expected)
    while (token := cursor.peek(ahead)).kind != "end":
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        if depth == 0 and (_is_select_clause(cursor, ahead) or token.text in (";", "|>")):
            cursor.position += ahead
            cursor.fail(expected)
        ahead += 1


def _is_select_clause(cursor: TokenCursor, ahead: int) -> bool:
    """Whether the token begins a clause: it is a word behind an expression. `* EXCEPT (…)` is refused elsewhere."""
    token = cursor.peek(ahead)
    if token.word not in _CLAUSES or not ahead:
        return False
    before = cursor.peek(ahead - 1)
    if before.kind == "symbol":
        is_star = before.text == "*" and (ahead == 1 or cursor.peek(ahead - 2).text in (",", "."))
        return before.text in _CLOSING or (is_star and (token.word != "EXCEPT" or cursor.peek(ahead + 1).text != "("))
    return before.word not in _NO_CLAUSE_BEHIND | _OPERATOR_WORDS
