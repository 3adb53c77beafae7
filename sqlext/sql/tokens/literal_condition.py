"""Conditions that compare columns with plain literals for equality, read without Spark."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlext.sql.tokens.plain_literal import PlainLiteral, read_literal
from sqlext.sql.tokens.quoting import unquote_identifier

_NAME = re.compile(r"\s*((?:[A-Za-z_]\w*|`[^`]+`)(?:\.(?:[A-Za-z_]\w*|`[^`]+`))*)\s*", re.ASCII)
_PART = re.compile(r"[A-Za-z_]\w*|`[^`]+`", re.ASCII)
_EQUALS = re.compile(r"=\s*(?!=)")
_AND = re.compile(r"\s*\bAND\b", re.IGNORECASE)
_IN = re.compile(r"IN\s*\(\s*", re.IGNORECASE)
_NEXT_VALUE = re.compile(r"\s*,\s*")
_END = re.compile(r"\s*\Z")
_END_OF_LIST = re.compile(r"\s*\)\s*\Z")
# Bare words that are values, or calls of functions, unless a table has such a column.
_VALUES = frozenset(
    [
        "true",
        "false",
        "null",
        "current_date",
        "current_time",
        "current_timestamp",
        "current_user",
        "localtimestamp",
        "session_user",
        "user",
    ]
)


@dataclass(frozen=True, slots=True)
class LiteralCondition:
    """The columns, by the parts of their names as written, are equal to one of the rows of literals."""

    columns: tuple[tuple[str, ...], ...]
    rows: tuple[tuple[PlainLiteral, ...], ...]


def literal_condition(text: str) -> LiteralCondition | None:
    """`a = 1 AND b = 'x'`, or `a IN (1, 2)`; None for any other text."""
    columns: list[tuple[str, ...]] = []
    row: list[PlainLiteral] = []
    at = 0
    while (found := _NAME.match(text, at)) is not None:
        parts = tuple(unquote_identifier(part) for part in _PART.findall(found[1]))
        if found[1].lower() in _VALUES:
            return None
        if not columns and (listed := _IN.match(text, found.end())) is not None:
            literals = _listed(text, listed.end())
            return None if literals is None else LiteralCondition((parts,), tuple((one,) for one in literals))
        equals = _EQUALS.match(text, found.end())
        literal = None if equals is None else read_literal(text, equals.end())
        if literal is None:
            return None
        columns.append(parts)
        row.append(literal[0])
        if _END.match(text, literal[1]):
            return LiteralCondition(tuple(columns), (tuple(row),))
        following = _AND.match(text, literal[1])
        if following is None:
            return None
        at = following.end()
    return None


def _listed(text: str, begin: int) -> list[PlainLiteral] | None:
    """The literals of a list up to its end, which is that of the text."""
    literals: list[PlainLiteral] = []
    at = begin
    while (literal := read_literal(text, at)) is not None:
        literals.append(literal[0])
        if _END_OF_LIST.match(text, literal[1]):
            return literals
        following = _NEXT_VALUE.match(text, literal[1])
        if following is None:
            return None
        at = following.end()
    return None
