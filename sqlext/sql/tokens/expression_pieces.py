"""Deeply nested expressions cut into pieces that nest less: sqlglot's parser recurses for each bracket, and reaches
Python's recursion limit at about forty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlext.sql.tokens.token_cursor import Token, tokenize

# Far enough below the parser's limit, even if as many further brackets cannot be cut.
MOST_BRACKETS = 20

_CLOSED_BY = {"(": ")", "[": "]", "{": "}"}
_QUERY_HEADS = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE"})
# Words before and after a bracket that is an expression by itself, as it is between operators. Another word before a
# bracket is the name of a function, unless it is in `_NO_FUNCTIONS`.
_BEFORE = frozenset({"AND", "OR", "NOT", "CASE", "WHEN", "THEN", "ELSE"})
_BEHIND = frozenset({"AND", "OR", "WHEN", "THEN", "ELSE", "END", "IS", "IN", "LIKE", "BETWEEN"})
_NO_FUNCTIONS = frozenset(
    {"ALL", "ANY", "AS", "BETWEEN", "BY", "DISTINCT", "DIV", "END", "ESCAPE", "EXCEPT", "EXISTS", "FILTER", "FROM"}
    | {"GROUP", "HAVING", "ILIKE", "IN", "INTERSECT", "INTERVAL", "IS", "JOIN", "LATERAL", "LIKE", "LIMIT", "MINUS"}
    | {"NULL", "OFFSET", "ON", "OVER", "REGEXP", "RLIKE", "SELECT", "SOME", "TABLE", "UNION", "USING", "VALUES"}
    | {"WHERE", "WITH"}
)
_APPLIED = frozenset({".", "[", "(", ":", "::", "->", "=>"})


@dataclass(frozen=True, slots=True)
class Piece:
    """An expression at offset `start` of the whole, with a number in place of each piece within it."""

    text: str
    start: int
    in_subquery: bool


@dataclass(slots=True)
class _Group:
    """An open bracket; `begin` is the first token of the expression that ends with it, None if it ends none."""

    closed_by: str
    begin: int | None
    is_query: bool
    height: int = 0


def expression_pieces(text: str, most: int = MOST_BRACKETS) -> list[Piece]:
    """The pieces, the outermost last; the whole text alone if at most `most` brackets nest.

    Text with a lambda function is not cut either, since a piece may use parameters that another one defines.
    """
    tokens = tokenize(text)
    whole = [Piece(text, 0, False)]
    if _height(tokens) <= most or any(token.text == "->" for token in tokens):
        return whole
    pieces: list[Piece] = []
    rest = list(text)
    groups: list[_Group] = []
    for number, token in enumerate(tokens):
        if token.text in _CLOSED_BY:
            is_query = number + 1 < len(tokens) and tokens[number + 1].word in _QUERY_HEADS
            groups.append(_Group(_CLOSED_BY[token.text], _begin(tokens, number), is_query))
        elif groups and token.text == groups[-1].closed_by:
            group = groups.pop()
            height = group.height + 1
            if height >= most and group.begin is not None and _may_end(tokens, number):
                start = tokens[group.begin].start
                pieces.append(Piece("".join(rest[start : token.end]), start, any(above.is_query for above in groups)))
                rest[start : token.end] = "0".ljust(token.end - start)
                height = 0
            if groups:
                groups[-1].height = max(groups[-1].height, height)
        elif token.text in (")", "]", "}"):
            return whole
    return [*pieces, Piece("".join(rest), 0, False)]


def _height(tokens: Sequence[Token]) -> int:
    opened = highest = 0
    for token in tokens:
        opened += (token.text in _CLOSED_BY) - (token.text in (")", "]", "}"))
        highest = max(highest, opened)
    return highest


def _begin(tokens: Sequence[Token], number: int) -> int | None:
    """The first token of the expression whose last bracket opens at token `number`; None if it is no expression."""
    if tokens[number].text != "(":
        return None
    before = tokens[number - 1] if number else None
    if before is None or before.word in _BEFORE:
        return number
    if before.kind == "symbol":
        return None if before.text in (")", "]", "}", ".", ">") else number
    if before.kind not in ("word", "quoted") or before.word in _NO_FUNCTIONS:
        return None
    number -= 1
    while number > 1 and tokens[number - 1].text == "." and tokens[number - 2].kind in ("word", "quoted"):
        number -= 2
    return None if number and tokens[number - 1].text == "." else number


def _may_end(tokens: Sequence[Token], number: int) -> bool:
    """Whether the token after the closing bracket does not continue the expression."""
    if number + 1 == len(tokens):
        return True
    behind = tokens[number + 1]
    return behind.word in _BEHIND or (behind.kind == "symbol" and behind.text not in _APPLIED)
