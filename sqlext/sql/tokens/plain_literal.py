"""Literals whose value in a column is known from their text, without evaluation by Spark."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias, cast

from sqlext.spec.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    Type,
)

LiteralKind: TypeAlias = Literal["null", "boolean", "date", "text", "whole", "decimal", "double"]

# Spark first finds a common type of a column's values, which holds decimals of so few digits exactly. A text with an
# escape, a quote or a variable of Spark (`${…}`) is no plain literal.
_DIGITS: Final = 15
_WHOLE, _DECIMAL, _DATE = r"-?\d{1,19}", rf"-?\d{{1,{_DIGITS}}}\.\d{{1,{_DIGITS}}}", r"\d{4}-\d\d-\d\d"
_NUMBER = rf"{_DECIMAL}|-?\d{{1,{_DIGITS}}}"
_TEXT = r"'(?P<text>[^'\\$]*)'"
_FLAGS = re.IGNORECASE | re.ASCII
# A whole number with the suffix L has at most 18 digits, so that it is in the range of BIGINT.
_LITERAL = re.compile(
    rf"(?P<null>NULL\b)|(?P<boolean>(?:TRUE|FALSE)\b)|DATE\s*'(?P<date>{_DATE})'|{_TEXT}"
    rf"|(?P<double>{_NUMBER})D\b|(?P<decimal>{_DECIMAL})(?:BD)?\b|(?P<whole>-?\d{{1,18}}(?=L\b)|{_WHOLE}\b)L?",
    _FLAGS,
)
_CAST = re.compile(
    rf"CAST\s*\(\s*(?:{_TEXT}|(?P<whole>{_WHOLE}))\s+AS\s+"
    r"(?P<type>\w+)(?:\s*\(\s*(?P<precision>\d{1,2})\s*,\s*(?P<scale>\d{1,2})\s*\))?\s*\)",
    _FLAGS,
)
# By type of a cast, the kind of its result, and the texts of which the cast keeps the value.
_CASTS: Final[Mapping[str, tuple[LiteralKind, re.Pattern[str]]]] = {
    "INT": ("whole", re.compile(_WHOLE, _FLAGS)),
    "BIGINT": ("whole", re.compile(_WHOLE, _FLAGS)),
    "DECIMAL": ("decimal", re.compile(_NUMBER, _FLAGS)),
    "DOUBLE": ("double", re.compile(_NUMBER, _FLAGS)),
    "DATE": ("date", re.compile(_DATE, _FLAGS)),
    "STRING": ("text", re.compile(".*", _FLAGS | re.DOTALL)),
    "BOOLEAN": ("boolean", re.compile("TRUE|FALSE", _FLAGS)),
}

_TYPES: Final = (BooleanType, DateType, DecimalType, DoubleType, IntegerType, LongType, StringType)
# By kind of literal, types of columns that a literal equals before its cast to the type exactly if it does after.
_COMPARED_ALIKE: Final[Mapping[LiteralKind, tuple[type[Type], ...]]] = {
    "whole": (IntegerType, LongType),
    "text": (StringType,),
    "date": (DateType,),
}
_INT: Final = range(-(2**31), 2**31)
_LONG: Final = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class PlainLiteral:
    """A literal; `text` is without quotes."""

    kind: LiteralKind
    text: str


def read_literal(text: str, at: int) -> tuple[PlainLiteral, int] | None:
    """The literal at offset `at`, which may be a cast that keeps its value, and its end; None if there is none."""
    found = _LITERAL.match(text, at)
    if found is not None and found.lastgroup is not None:
        return PlainLiteral(cast(LiteralKind, found.lastgroup), found[found.lastgroup]), found.end()
    found = _CAST.match(text, at)
    literal = None if found is None else _cast(found)
    return None if found is None or literal is None else (literal, found.end())


def _cast(found: re.Match[str]) -> PlainLiteral | None:
    type, given = found["type"].upper(), found["text"]
    text = found["whole"] if given is None else given
    kind, texts = _CASTS.get(type, (None, None))
    if kind is None or texts is None or not texts.fullmatch(text) or (given is None and kind != "whole"):
        return None
    if type == "INT" and int(text) not in _INT:
        return None
    precision, scale = int(found["precision"] or 0), int(found["scale"] or 0)
    if (type == "DECIMAL") != (precision > 0) or precision - scale > _DIGITS or scale > _DIGITS:
        return None
    return PlainLiteral(kind, text) if not precision or _fits(text, precision, scale) else None


def column_value(literal: PlainLiteral, field: NestedField) -> Any:
    """The literal's value in the column, as Arrow takes it, by Spark's store assignment under the policy ANSI.

    Raises ValueError if the column does not hold the literal's own value.
    """
    kind, text = literal.kind, literal.text
    match field.type, kind:
        case _, "null" if not field.required and isinstance(field.type, _TYPES):
            return None
        case BooleanType(), "boolean":
            return text.upper() == "TRUE"
        case StringType(), "text":
            return text
        case DateType(), "date":
            return date.fromisoformat(text)
        case IntegerType(), "whole" if int(text) in _INT:
            return int(text)
        case LongType(), "whole" if int(text) in _LONG:
            return int(text)
        case DoubleType(), "whole" if int(text) in _LONG:
            return float(int(text))
        case DoubleType(), "double":
            return float(text)
        case DoubleType(), "decimal":
            # Spark's decimals have no negative zero.
            return float(text) or 0.0
        case DecimalType(precision=precision, scale=scale), "whole" | "decimal" if _fits(text, precision, scale):
            return Decimal(text)
    raise ValueError(literal, field)


def compares_as_stored(literal: PlainLiteral, type: Type) -> bool:
    """Whether a column of the type equals the literal exactly if it equals the literal's value in the column."""
    return isinstance(type, _COMPARED_ALIKE.get(literal.kind, ()))


def _fits(text: str, precision: int, scale: int) -> bool:
    return len(text.partition(".")[2]) <= scale and abs(Decimal(text)) < 10 ** (precision - scale)
