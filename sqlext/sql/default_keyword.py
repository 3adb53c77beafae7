"""The keyword DEFAULT as a value: the default of the column that it is assigned to."""

from __future__ import annotations

from sqlext.sql.tokens.token_cursor import TokenCursor, tokenize

_DEFAULT = "DEFAULT"


def mentions_default(text: str) -> bool:
    """Whether the text has the word DEFAULT, as the keyword or a name."""
    return _DEFAULT in text.upper() and any(
        token.word == _DEFAULT or token.text.upper() == f"`{_DEFAULT}`" for token in tokenize(text)
    )


def default_word(text: str) -> str | None:
    """The word DEFAULT in the spelling of `text`, if that is this word alone or in parentheses; else None."""
    cursor = TokenCursor(text)
    depth = 0
    while cursor.accept("("):
        depth += 1
    word = cursor.peek().text
    found = cursor.accept(_DEFAULT)
    while depth and cursor.accept(")"):
        depth -= 1
    return word if found and not depth and cursor.at_end else None
