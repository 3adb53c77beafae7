"""VALUES of literals that need no evaluation: what Spark would make of them is known from their text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Final

from sqlext.spec.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
)

_HEAD = re.compile(r"\s*VALUES\s*\(\s*", re.IGNORECASE)
# Of a column's values Spark makes one type first, which holds them all exactly while decimals have no more digits. A
# text with an escape, a quote or a variable of Spark's (`${…}`) in it is none of these.
_LITERAL = re.compile(
    r"(?P<null>NULL\b)|(?P<boolean>(?:TRUE|FALSE)\b)|DATE\s*'(?P<date>\d{4}-\d\d-\d\d)'|'(?P<text>[^'\\$]*)'"
    r"|(?P<decimal>-?\d{1,15}\.\d{1,15})|(?P<whole>-?\d{1,19})",
    re.IGNORECASE | re.ASCII,
)
_NEXT_VALUE = re.compile(r"\s*,\s*")
_NEXT_ROW = re.compile(r"\s*\)\s*,\s*\(\s*")
_END = re.compile(r"\s*\)\s*\Z")

_TYPES: Final = (BooleanType, DateType, DecimalType, DoubleType, IntegerType, LongType, StringType)
_LONG: Final = range(-(2**63), 2**63)
_RANGES: Final[Mapping[type, range]] = {IntegerType: range(-(2**31), 2**31), LongType: _LONG}


def literal_columns(text: str, fields: Sequence[NestedField]) -> list[list[Any]] | None:
    """The values of each column, by position, as Arrow takes them; None where Spark has to evaluate the text.

    That is so for all but plain literals that their columns hold as they are, and for a text in error. The rules are
    those of store assignment under `spark.sql.storeAssignmentPolicy` = ANSI.
    """
    columns: list[list[Any]] = [[] for _ in fields]
    at = _after(_HEAD, text, 0)
    while at is not None:
        for field, column in zip(fields, columns, strict=True):
            if column is not columns[0]:
                at = _after(_NEXT_VALUE, text, at)
            literal = None if at is None else _LITERAL.match(text, at)
            if literal is None:
                return None
            try:
                column.append(_value(field, literal))
            except ValueError:
                return None
            at = literal.end()
        if _END.match(text, at):
            return columns
        at = _after(_NEXT_ROW, text, at)
    return None


def _after(pattern: re.Pattern[str], text: str, at: int) -> int | None:
    found = pattern.match(text, at)
    return None if found is None else found.end()


def _value(field: NestedField, literal: re.Match[str]) -> Any:
    """ValueError where the column does not hold the literal as it is."""
    kind, text = literal.lastgroup, literal[literal.lastgroup or 0]
    match field.type, kind:
        case _, "null" if not field.required and isinstance(field.type, _TYPES):
            return None
        case BooleanType(), "boolean":
            return text.upper() == "TRUE"
        case StringType(), "text":
            return text
        case DateType(), "date":
            return date.fromisoformat(text)
        case (IntegerType() | LongType()) as type, "whole" if int(text) in _RANGES[type.__class__]:
            return int(text)
        case DoubleType(), "whole" if int(text) in _LONG:
            return float(int(text))
        case DoubleType(), "decimal":
            # Spark's decimals have no negative zero.
            return float(text) or 0.0
        case DecimalType(precision=precision, scale=scale), "whole" | "decimal":
            value, decimals = Decimal(text), len(text.partition(".")[2])
            if decimals <= scale and abs(value) < 10 ** (precision - scale):
                return value
    raise ValueError(field, text)
