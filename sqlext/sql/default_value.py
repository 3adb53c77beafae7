"""The keyword DEFAULT in the source of an INSERT: it stands for the default of the column that its place is for."""

from __future__ import annotations

from collections.abc import Sequence

from sqlext.spec.types import NestedField
from sqlext.sql.literal import write_default_text
from sqlext.sql.token_cursor import TokenCursor, tokenize

_OPENING = frozenset({"(", "[", "{"})
_CLOSING = frozenset({")", "]", "}"})


def with_defaults(source: str, columns: Sequence[NestedField]) -> str:
    """The source with literals for DEFAULT as a whole value of VALUES, or of the outermost SELECT list.

    `columns` are those that the values are for. Any other text is left as it is.
    """
    tokens = tokenize(source)
    if not tokens or tokens[0].word not in ("VALUES", "SELECT") or all(t.word != "DEFAULT" for t in tokens):
        return source
    in_values = tokens[0].word == "VALUES"
    pieces: list[str] = []
    done = depth = column = 0
    for before, token, after in zip(tokens, tokens[1:], [*tokens[2:], None], strict=False):
        if token.text in _OPENING:
            if in_values and depth == 0:
                column = 0
            depth += 1
        elif token.text in _CLOSING:
            depth -= 1
        elif token.text == "," and depth == (1 if in_values else 0):
            column += 1
        elif not in_values and depth == 0 and token.word == "FROM":
            break
        ends = after is None or after.text in (",", ")") or after.word == "FROM"
        whole = (before.text in ("(", ",") or before.word in ("VALUES", "SELECT")) and ends
        if token.word == "DEFAULT" and whole and depth <= in_values and column < len(columns):
            pieces += source[done : token.start], write_default_text(columns[column])
            done = token.end
    return "".join((*pieces, source[done:]))


def is_default(text: str) -> bool:
    """Whether a value is the keyword DEFAULT."""
    cursor = TokenCursor(text)
    return cursor.accept("DEFAULT") and cursor.at_end
