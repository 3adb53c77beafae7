"""Spark's pushed filters to predicates over field ids.

A predicate for a scan may be weaker than its filter (Spark filters the rows again), never stronger: what cannot be said
is left out; under a negation nothing may be left out.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlext.spec.expression import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Comparison,
    In,
    IsNaN,
    IsNull,
    NotNull,
    Operator,
    Or,
    Predicate,
    StartsWith,
    negate,
)
from sqlext.spec.schema import Schema
from sqlext.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    Type,
    UuidType,
)

_FLOATS = (FloatType, DoubleType)
_HELD: Mapping[type[Type], type | tuple[type, ...]] = {
    BooleanType: bool,
    IntegerType: int,
    LongType: int,
    DateType: int,
    TimeType: int,
    TimestampType: int,
    TimestamptzType: int,
    TimestampNanoType: int,
    TimestamptzNanoType: int,
    FloatType: (float, int),
    DoubleType: (float, int),
    DecimalType: Decimal,
    StringType: str,
    BinaryType: bytes,
    FixedType: bytes,
}
_OPERATORS: Mapping[str, Operator] = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "=": "="}


def predicate_of(filters: list[Any], schema: Schema) -> Predicate:
    """The conjunction of all filters that can be said."""
    said = [p for p in (_convert(f, schema, exact=False) for f in filters) if p is not None]
    combined: Predicate = AlwaysTrue()
    for predicate in said:
        combined = predicate if isinstance(combined, AlwaysTrue) else And(combined, predicate)
    return combined


def exact_predicate(described: list[Any], schema: Schema) -> Predicate | None:
    """The predicate that selects just what the filter does; None where that cannot be said."""
    return _convert(described, schema, exact=True)


def _convert(described: list[Any], schema: Schema, *, exact: bool) -> Predicate | None:
    operator = described[0]
    if operator in ("and", "or"):
        left = _convert(described[1], schema, exact=exact)
        right = _convert(described[2], schema, exact=exact)
        if left is not None and right is not None:
            return And(left, right) if operator == "and" else Or(left, right)
        return None if exact or operator == "or" else left or right
    if operator == "not":
        inner = _convert(described[1], schema, exact=True)
        return None if inner is None else negate(inner)
    field = schema.find(described[1])
    return None if field is None else _convert_term(operator, field, described)


def _convert_term(operator: str, field: NestedField, described: list[Any]) -> Predicate | None:
    if operator == "is null":
        return IsNull(field.id)
    if operator == "not null":
        return NotNull(field.id)
    if operator == "starts with":
        return None if isinstance(field.type, UuidType) else StartsWith(field.id, described[2])
    if operator == "in":
        return _convert_in(field, [_value(v) for v in described[2]])
    return _compare(operator, field, _value(described[2]))


def _convert_in(field: NestedField, values: list[Any]) -> Predicate | None:
    literals = [_literal(field.type, value) for value in values]
    if any(literal is None or _is_special(literal) for literal in literals):
        return None
    return In(field.id, frozenset(literals)) if literals else AlwaysFalse()


def _compare(operator: str, field: NestedField, value: Any) -> Predicate | None:
    """In Spark NaN equals itself and is greater than every number; a bound never holds NaN."""
    if _is_special(value):
        return IsNaN(field.id) if operator == "=" and value != value else None
    literal = _literal(field.type, value)
    if literal is None:
        return None
    comparison = Comparison(_OPERATORS[operator], field.id, literal)
    if isinstance(field.type, _FLOATS) and operator in (">", ">="):
        return Or(comparison, IsNaN(field.id))
    return comparison


def _literal(type: Type, value: Any) -> Any:
    """The stored value of what Spark compares a column with; None for one of another type."""
    if isinstance(type, UuidType):
        return _uuid(value)
    for of, held in _HELD.items():
        if isinstance(type, of):
            return value if isinstance(value, held) and isinstance(value, bool) == (of is BooleanType) else None
    return None


def _uuid(text: Any) -> UUID | None:
    """Spark sees text, whose order is that of the numbers only if it is in their usual form."""
    try:
        uuid = UUID(text)
    except (ValueError, AttributeError, TypeError):
        return None
    return uuid if str(uuid) == text else None


def _is_special(value: Any) -> bool:
    return isinstance(value, float) and (value != value or value in (float("inf"), float("-inf")))


def _value(encoded: Any) -> Any:
    if not isinstance(encoded, dict):
        return encoded
    if "decimal" in encoded:
        return Decimal(encoded["decimal"])
    if "binary" in encoded:
        return base64.b64decode(encoded["binary"])
    return float(encoded["float"].replace("Infinity", "inf"))
