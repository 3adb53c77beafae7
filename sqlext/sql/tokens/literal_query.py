"""Queries that are a list of plain literals, `VALUES` or `SELECT` without FROM, read without Spark."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from sqlext.spec.types import NestedField
from sqlext.sql.tokens.plain_literal import PlainLiteral, column_value, read_literal
from sqlext.sql.tokens.quoting import unquote_identifier

_VALUES = re.compile(r"\s*VALUES\s*\(\s*", re.IGNORECASE)
_SELECT = re.compile(r"\s*SELECT\s+", re.IGNORECASE)
_NEXT_VALUE = re.compile(r"\s*,\s*")
_NEXT_ROW = re.compile(r"\s*\)\s*,\s*\(\s*")
_NAME = re.compile(r"\s+AS\s+([A-Za-z_]\w*|`[^`]+`)", re.IGNORECASE | re.ASCII)
_END_OF_VALUES = re.compile(r"\s*\)\s*\Z")
_END_OF_SELECT = re.compile(r"\s*\Z")


@dataclass(frozen=True, slots=True)
class LiteralQuery:
    """Rows of literals, one for each of the column `names`."""

    names: tuple[str, ...]
    rows: tuple[tuple[PlainLiteral, ...], ...]


def literal_query(text: str) -> LiteralQuery | None:
    """The query, with Spark's names for the columns of VALUES; None for any other text."""
    at = _after(_VALUES, text, 0)
    if at is not None:
        return _values(text, at)
    at = _after(_SELECT, text, 0)
    return None if at is None else _selected(text, at)


def column_values(query: LiteralQuery, column: int, field: NestedField) -> list[Any]:
    """The values of a column of the query in the table's column `field`. Raises ValueError as `column_value`."""
    return [column_value(row[column], field) for row in query.rows]


def _values(text: str, begin: int) -> LiteralQuery | None:
    rows: list[tuple[PlainLiteral, ...]] = []
    at: int | None = begin
    while at is not None:
        row: list[PlainLiteral] = []
        following: int | None = at
        while following is not None:
            literal = read_literal(text, following)
            if literal is None:
                return None
            row.append(literal[0])
            at = literal[1]
            following = _after(_NEXT_VALUE, text, at)
        if rows and len(row) != len(rows[0]):
            return None
        rows.append(tuple(row))
        if _END_OF_VALUES.match(text, at):
            return LiteralQuery(tuple(f"col{number + 1}" for number in range(len(row))), tuple(rows))
        at = _after(_NEXT_ROW, text, at)
    return None


def _selected(text: str, begin: int) -> LiteralQuery | None:
    names: list[str] = []
    row: list[PlainLiteral] = []
    at: int | None = begin
    while at is not None:
        literal = read_literal(text, at)
        name = None if literal is None else _NAME.match(text, literal[1])
        if literal is None or name is None:
            return None
        row.append(literal[0])
        names.append(unquote_identifier(name[1]))
        if _END_OF_SELECT.match(text, name.end()):
            return LiteralQuery(tuple(names), (tuple(row),))
        at = _after(_NEXT_VALUE, text, name.end())
    return None


def _after(pattern: re.Pattern[str], text: str, at: int) -> int | None:
    found = pattern.match(text, at)
    return None if found is None else found.end()
