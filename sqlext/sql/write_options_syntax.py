"""The options of one write, behind the name of the table that is written: Flink's hint, or Spark's WITH."""

from __future__ import annotations

import re

from sqlext.sql.property_syntax import parse_properties
from sqlext.sql.token_cursor import TokenCursor

_COMMENT = re.compile(r"--[^\n]*|/\*(?P<hint>\+?).*?\*/", re.DOTALL)


def parse_write_options(cursor: TokenCursor) -> dict[str, str]:
    """The options of `/*+ OPTIONS('name'='value', …) */` or `WITH ('name'='value', …)`; none where neither stands.

    ParseError for another hint: no other has a meaning here.
    """
    if cursor.at("WITH", "("):
        cursor.expect("WITH")
        return parse_properties(cursor)
    start = cursor.peek(-1).end
    hint = next((found for found in _COMMENT.finditer(cursor.text[start : cursor.peek().start]) if found["hint"]), None)
    if hint is None:
        return {}
    # To the lexer a hint is a comment. Its text keeps its place, so that an error tells the right line and column.
    first, end = start + hint.start() + len("/*+"), start + hint.end() - len("*/")
    within = cursor.over(re.sub(r"[^\n]", " ", cursor.text[:first]) + cursor.text[first:end])
    within.expect("OPTIONS")
    options = parse_properties(within)
    within.expect_end()
    return options
