"""The options of one write, behind the name of the table that is written: Flink's hint, or Spark's WITH."""

from __future__ import annotations

from sqlext.sql.syntax.options_hint import parse_options_hint
from sqlext.sql.syntax.property_syntax import parse_properties
from sqlext.sql.tokens.token_cursor import TokenCursor


def parse_write_options(cursor: TokenCursor) -> dict[str, str]:
    """The options of `/*+ OPTIONS('name'='value', …) */` or `WITH ('name'='value', …)`; none where neither stands.

    ParseError for another hint: no other has a meaning here.
    """
    if cursor.at("WITH", "("):
        cursor.expect("WITH")
        return parse_properties(cursor)
    return parse_options_hint(cursor) if cursor.peek().kind == "hint" else {}
