"""ON CONFLICT after the query of an INSERT, in PostgreSQL's spelling."""

from __future__ import annotations

from collections.abc import Callable

from sqlext.sql.statements.statement import Assignment, OnConflict
from sqlext.sql.tokens.token_cursor import TokenCursor

ParseAssignments = Callable[[TokenCursor, Callable[[], bool]], tuple[Assignment, ...]]


def at_on_conflict(cursor: TokenCursor) -> bool:
    """Whether the clause begins here, and not a join's condition `ON conflict`."""
    if not cursor.at("ON", "CONFLICT"):
        return False
    if cursor.peek(2).word in ("DO", "ON"):
        return True
    if cursor.peek(2).text != "(":
        return False
    depth, ahead = 0, 2
    while cursor.peek(ahead).kind != "end":
        depth += {"(": 1, ")": -1}.get(cursor.peek(ahead).text, 0)
        ahead += 1
        if depth == 0:
            break
    return cursor.peek(ahead).word in ("DO", "WHERE")


def parse_on_conflict(cursor: TokenCursor, parse_assignments: ParseAssignments) -> OnConflict:
    """The clause, up to the end of the statement."""
    cursor.expect("ON", "CONFLICT")
    if cursor.at("ON", "CONSTRAINT"):
        cursor.refuse("ON CONFLICT ON CONSTRAINT", "the name of a key is not kept. Name its columns")
    columns = cursor.name_list() if cursor.at("(") else None
    if cursor.at("WHERE"):
        cursor.refuse("ON CONFLICT (…) WHERE", "a key is that of all rows. Leave the condition out")
    cursor.expect("DO")
    if cursor.accept("NOTHING"):
        cursor.expect_end()
        return OnConflict(columns)
    cursor.expect("UPDATE", "SET")
    if columns is None:
        cursor.refuse("ON CONFLICT DO UPDATE without columns", "PostgreSQL asks for them. Name those of the key")
    assignments = parse_assignments(cursor, lambda: cursor.at("WHERE"))
    where = cursor.slice_to_end("a condition") if cursor.accept("WHERE") else None
    return OnConflict(columns, assignments, where)
