"""Property lists: `('a.b' = 'x', c.d = 1, e true)`, as TBLPROPERTIES, WITH and options spell them."""

from __future__ import annotations

from sqlext.errors import ParseError
from sqlext.sql.tokens.token_cursor import TokenCursor


def parse_properties(cursor: TokenCursor) -> dict[str, str]:
    """The pairs in order; keys quoted or dotted, values string, number or boolean, `=` optional as in Spark."""
    properties: dict[str, str] = {}
    cursor.expect("(")
    while True:
        key = _parse_key(cursor)
        if not cursor.accept("="):
            cursor.accept("==")
        if key in properties:
            raise ParseError("DUPLICATE_CLAUSES", clause=f"The property '{key}'")
        properties[key] = _parse_value(cursor)
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return properties


def parse_property_keys(cursor: TokenCursor) -> tuple[str, ...]:
    """The keys of UNSET TBLPROPERTIES, in order."""
    cursor.expect("(")
    keys = [_parse_key(cursor)]
    while cursor.accept(","):
        keys.append(_parse_key(cursor))
    cursor.expect(")")
    return tuple(keys)


def _parse_key(cursor: TokenCursor) -> str:
    return cursor.string() if cursor.peek().kind == "string" else ".".join(_key_parts(cursor))


def _key_parts(cursor: TokenCursor) -> list[str]:
    """A dotted key; a part may hold dashes, as in format-version."""
    parts = []
    while True:
        part = cursor.name("a property key")
        while cursor.accept("-"):
            part += "-" + cursor.name("a property key")
        parts.append(part)
        if not cursor.accept("."):
            return parts


def _parse_value(cursor: TokenCursor) -> str:
    token = cursor.peek()
    if token.kind == "string":
        return cursor.string()
    if token.word in ("TRUE", "FALSE"):
        cursor.position += 1
        return token.text.lower()
    first = cursor.position
    cursor.accept("-")
    if cursor.accept("."):
        pass
    if cursor.peek().kind != "number":
        cursor.fail("a value: a string, a number, true or false")
    cursor.position += 1
    return cursor.slice_from(first).text
