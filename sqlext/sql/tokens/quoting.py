"""Names and strings as Spark SQL text, and the value of a string literal as Spark reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable

_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[0-3][0-7]{2}|.)", re.DOTALL)
_CONTROL = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def quote_identifier(name: str) -> str:
    """One part of a name, always in backticks, so that any name is one token."""
    return "`" + name.replace("`", "``") + "`"


def quote_name(parts: Iterable[str]) -> str:
    """A dotted name, every part quoted."""
    return ".".join(quote_identifier(part) for part in parts)


def quote_string(value: str) -> str:
    """A string literal whose value is `value` under Spark's default settings (`escapedStringLiterals` off)."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def unquote_identifier(text: str) -> str:
    """The name that an identifier token spells."""
    return text[1:-1].replace("``", "`") if text.startswith("`") else text


def unquote_string(literal: str, *, escaped: bool = False) -> str:
    """The value of one string literal: quotes doubled inside, backslash escapes, or a raw `r'…'` literal.

    `escaped` is Spark's `spark.sql.parser.escapedStringLiterals`: the text between the quotes is taken as it stands.
    """
    if literal[0] in "rR":
        return literal[2:-1]
    quote, body = literal[0], literal[1:-1]
    if escaped:
        return body
    pieces = re.split(r"(\\.)", body, flags=re.DOTALL)
    undoubled = "".join(piece if piece.startswith("\\") else piece.replace(quote * 2, quote) for piece in pieces)
    return _ESCAPE.sub(_unescape, undoubled)


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) > 1:
        return chr(int(code[1:], 16)) if code[0] in "uU" else chr(int(code, 8))
    return _CONTROL.get(code, code)
