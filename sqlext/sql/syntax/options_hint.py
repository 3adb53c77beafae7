"""`table /*+ OPTIONS('name'='value', …) */`, Flink's hint: options of one read of a table, or of one write.

Spark has no such hint. After a table that is read it is rewritten as a version, which Spark passes to the catalog with
the table's name: `table VERSION AS OF '@?name=value&…'`. Spark's own clause `WITH ('name'='value', …)` does not serve:
Spark resolves a table once per query, whatever its options at each place, and drops those of a view or a CTE. A version
is part of what is resolved, and is refused for a relation without versions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, urlencode

from sqlext.errors import AnalysisError, ParseError
from sqlext.sql.syntax.property_syntax import parse_properties
from sqlext.sql.tokens.token_cursor import TokenCursor

_OPTIONS = re.compile(r"/\*\+\s*OPTIONS\b", re.IGNORECASE)
_BEGINS_OPTIONS = "@?"
_BEFORE_READ = frozenset({"FROM", "JOIN", "USING"})
_BEFORE_WRITTEN = frozenset({"INTO", "OVERWRITE"})
_CLAUSES = frozenset({"SELECT", "WHERE", "BY", "SET", "VALUES", "HAVING", "QUALIFY", "WHEN", "LIMIT"})
_VERSION_HEADS = frozenset({"VERSION", "SYSTEM_VERSION", "TIMESTAMP", "SYSTEM_TIME"})


def options_in_version(version: str) -> Mapping[str, str] | None:
    """The options in a version that a hint was rewritten as; None for any other version."""
    if not version.startswith(_BEGINS_OPTIONS):
        return None
    return dict(parse_qsl(version.removeprefix(_BEGINS_OPTIONS), keep_blank_values=True))


def version_with_options(options: Mapping[str, str]) -> str:
    """A version that encodes the options; it has letters, digits and `@?&=%.-_~` only."""
    return _BEGINS_OPTIONS + urlencode(options, quote_via=quote, safe="")


def parse_options_hint(cursor: TokenCursor) -> dict[str, str]:
    """The options of the hint that comes next. Raises ParseError for another hint."""
    hint = cursor.peek()
    # Blanks before the hint's text keep the line and column of errors.
    first, end = hint.start + len("/*+"), hint.end - len("*/")
    within = cursor.over(re.sub(r"[^\n]", " ", cursor.text[:first]) + cursor.text[first:end])
    within.expect("OPTIONS")
    options = parse_properties(within)
    within.expect_end()
    cursor.position += 1
    return options


def with_versions(text: str, *, escaped_string_literals: bool = False, double_quoted_identifiers: bool = False) -> str:
    """The text with a version for each hint OPTIONS after a table that is read; line numbers stay.

    Hints of the target of an INSERT stay. Raises ParseError HINT_MISPLACED, and AnalysisError TIME_TRAVEL_TWICE for a
    hint beside VERSION or TIMESTAMP AS OF.
    """
    if _OPTIONS.search(text) is None:
        return text
    try:
        cursor = TokenCursor(
            text,
            escaped_string_literals=escaped_string_literals,
            double_quoted_identifiers=double_quoted_identifiers,
        )
    except ParseError:
        # For Spark a comment with a hint inside ends with the hint, for sqlglot it does not. A hint that Spark finds
        # then, it refuses.
        return text
    pieces: list[str] = []
    done = 0
    while not cursor.at_end:
        hint = cursor.peek()
        if hint.kind != "hint" or not _OPTIONS.match(hint.text):
            cursor.position += 1
        elif (place := _Place(cursor).kind()) != "read":
            if place == "none":
                raise misplaced_hint(cursor)
            cursor.position += 1
        else:
            version = f" VERSION AS OF '{version_with_options(parse_options_hint(cursor))}' "
            lines = hint.text.count("\n")
            padded = version + "\n" * lines if lines else version.ljust(hint.end - hint.start)
            pieces += cursor.text[done : hint.start], padded
            done = hint.end
    return "".join((*pieces, cursor.text[done:]))


def misplaced_hint(cursor: TokenCursor) -> ParseError:
    """The error HINT_MISPLACED for the hint that comes next."""
    line, column = cursor.line_and_column()
    return ParseError("HINT_MISPLACED", hint=cursor.peek().text, line=line, column=column)


class _Place:
    """What the hint that comes next follows, by the tokens before it."""

    def __init__(self, cursor: TokenCursor) -> None:
        self._cursor = cursor

    def kind(self) -> str:
        """`read` or `written` after a table of that role, else `none`. Raises AnalysisError TIME_TRAVEL_TWICE."""
        name = self._begin_of_name()
        if name is not None:
            if self._reads(name) and self._word(name - 2) != "DELETE":
                self._require_no_version()
                return "read"
            words = (self._word(name - 1), self._word(name - 2))
            if words[0] in _BEFORE_WRITTEN or (words[0] == "TABLE" and words[1] in _BEFORE_WRITTEN):
                return "written"
        if self._behind_version():
            raise AnalysisError("TIME_TRAVEL_TWICE", name=f"The table before {self._cursor.peek().text}")
        return "none"

    def _text(self, ahead: int) -> str:
        return self._cursor.peek(ahead).text

    def _word(self, ahead: int) -> str:
        return self._cursor.peek(ahead).word

    def _begin_of_name(self) -> int | None:
        """The first token, counted from the hint, of the name that ends before the hint; None if there is no name."""
        at = -1
        while self._cursor.peek(at).kind in ("word", "quoted", "number"):
            if self._text(at - 1) != ".":
                return at
            at -= 2
        return None

    def _begin_of_group(self, at: int) -> int:
        depth = 0
        while self._cursor.peek(at).kind != "end":
            depth += {")": 1, "(": -1}.get(self._text(at), 0)
            if depth == 0:
                break
            at -= 1
        return at

    def _reads(self, at: int) -> bool:
        """Whether a relation begins at `at`: after FROM, JOIN or USING, also in parentheses, or later in a list."""
        before = at - 1
        while self._text(before) == "(":
            before -= 1
        if self._word(before) in _BEFORE_READ:
            return True
        return self._text(at - 1) == "," and self._in_from(at - 1)

    def _in_from(self, at: int) -> bool:
        while self._cursor.peek(at).kind != "end" and self._text(at) != "(" and self._word(at) not in _CLAUSES:
            if self._word(at) == "FROM" and self._word(at - 1) != "DISTINCT":
                return True
            at = (self._begin_of_group(at) if self._text(at) == ")" else at) - 1
        return False

    def _require_no_version(self) -> None:
        follows = 2 if self._word(1) == "FOR" else 1
        if (
            self._word(follows) in _VERSION_HEADS
            and self._word(follows + 1) == "AS"
            and self._word(follows + 2) == "OF"
        ):
            raise AnalysisError("TIME_TRAVEL_TWICE", name=self._text(-1))

    def _behind_version(self) -> bool:
        """Whether VERSION AS OF or TIMESTAMP AS OF, with its operand, ends before the hint."""
        at = -1
        while (
            self._cursor.peek(at).kind != "end"
            and self._text(at) not in ("(", ",")
            and self._word(at) not in _BEFORE_READ
        ):
            if self._word(at) == "OF" and self._word(at - 1) == "AS":
                return True
            at = (self._begin_of_group(at) if self._text(at) == ")" else at) - 1
        return False
