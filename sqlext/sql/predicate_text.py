"""A predicate over field ids as a condition that a user reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sqlext.errors import UnsupportedError
from sqlext.spec.expression import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Comparison,
    In,
    InBucket,
    IsNaN,
    IsNull,
    Not,
    NotIn,
    NotNaN,
    NotNull,
    Or,
    Predicate,
    StartsWith,
)
from sqlext.spec.field_path import path_text
from sqlext.spec.schema import Schema
from sqlext.spec.types import DecimalType, DoubleType, FloatType, IntegerType, LongType
from sqlext.sql.literal import literal_text
from sqlext.sql.tokens.quoting import quote_string

_PLAIN = (IntegerType, LongType, FloatType, DoubleType, DecimalType)
_MOST_VALUES = 5
_MOST_TERMS = 8


def predicate_text(predicate: Predicate, schema: Schema) -> str:
    """The predicate in SQL's words, for messages: of long lists and conditions the beginning, then `…`."""
    return _Text(schema).of(predicate)


class _Text:
    """Writes up to `_MOST_TERMS` terms."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._terms = 0

    def of(self, predicate: Predicate) -> str:
        match predicate:
            case And(left, right):
                return self._both(self._side(left), "AND", lambda: self._side(right))
            case Or(left, right):
                return self._both(self.of(left), "OR", lambda: self.of(right))
            case Not(child):
                return f"NOT ({self.of(child)})"
        self._terms += 1
        return self._term(predicate)

    def _both(self, left: str, word: str, right: Callable[[], str]) -> str:
        if self._terms < _MOST_TERMS:
            return f"{left} {word} {right()}"
        return left if left.endswith("…") else f"{left} {word} …"

    def _side(self, predicate: Predicate) -> str:
        text = self.of(predicate)
        return f"({text})" if isinstance(predicate, Or) else text

    def _term(self, predicate: Predicate) -> str:
        match predicate:
            case AlwaysTrue():
                return "true"
            case AlwaysFalse():
                return "false"
            case IsNull(id):
                return f"{self._name(id)} IS NULL"
            case NotNull(id):
                return f"{self._name(id)} IS NOT NULL"
            case IsNaN(id):
                return f"isnan({self._name(id)})"
            case NotNaN(id):
                return f"NOT isnan({self._name(id)})"
            case Comparison(op, id, value):
                return f"{self._name(id)} {op} {self._value(id, value)}"
            case In(id, values):
                return f"{self._name(id)} IN ({self._list(id, values)})"
            case NotIn(id, values):
                return f"{self._name(id)} NOT IN ({self._list(id, values)})"
            case StartsWith(id, prefix):
                return f"startswith({self._name(id)}, {quote_string(prefix)})"
            case InBucket(id, count, buckets):
                return f"bucket({count}, {self._name(id)}) IN ({', '.join(map(str, sorted(buckets)[:_MOST_VALUES]))})"
        raise ValueError(f"unknown predicate {predicate!r}")

    def _name(self, id: int) -> str:
        return path_text(self._schema.column_path(id)) if self._schema.field_or_none(id) is not None else f"field {id}"

    def _list(self, id: int, values: Iterable[Any]) -> str:
        texts = sorted(self._value(id, value) for value in values)
        return ", ".join([*texts[:_MOST_VALUES], *(["…"] if len(texts) > _MOST_VALUES else [])])

    def _value(self, id: int, value: Any) -> str:
        field = self._schema.field_or_none(id)
        if field is None or isinstance(field.type, _PLAIN):
            return str(value)
        try:
            return literal_text(field.type, value)
        except UnsupportedError:
            return str(value)
