"""Conversion of Spark's pushed filters to predicates on field ids.

A scan's predicate may be weaker than the filter, since Spark filters rows again, but not stronger. Parts that cannot be
expressed are left out, except inside a negation.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlext.spark.scan.transform_term import transform_term
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
    conjunction,
    disjunction,
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
    StructType,
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
# Largest nesting of AND, OR and NOT in a predicate; deeper parts are left out.
_DEEPEST = 20
_OPERATORS: Mapping[str, Operator] = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "=": "="}


def predicate_of(filters: list[Any], schema: Schema) -> Predicate:
    """The conjunction of all filters that can be expressed."""
    said = [p for p in (_convert(f, schema, exact=False) for f in filters) if p is not None]
    return conjunction(said)


def exact_predicate(described: list[Any], schema: Schema) -> Predicate | None:
    """The predicate that selects the same rows as the filter; None if it cannot be expressed."""
    return _convert(described, schema, exact=True)


def _convert(described: list[Any], schema: Schema, *, exact: bool, depth: int = 0) -> Predicate | None:
    operator = described[0]
    if operator in ("true", "false"):
        return AlwaysTrue() if operator == "true" else AlwaysFalse()
    if operator in ("and", "or"):
        if depth >= _DEEPEST:
            return None
        found = [_convert(one, schema, exact=exact, depth=depth + 1) for one in _operands(described)]
        said = [one for one in found if one is not None]
        if not said or (len(said) < len(found) and (exact or operator == "or")):
            return None
        return conjunction(said) if operator == "and" else disjunction(said)
    if operator == "not":
        inner = None if depth >= _DEEPEST else _convert(described[1], schema, exact=True, depth=depth + 1)
        if inner is None or _asks_for_nested_null(negate(inner), schema):
            return None
        return negate(inner)
    column = described[1]
    if isinstance(column, Mapping):
        field = _column(schema, column["column"])
        if field is None or field not in schema.fields:
            return None
        values = [_value(value) for value in _literals(operator, described)]
        return transform_term(column["transform"], column["number"], field, operator, values)
    field = _column(schema, column)
    if field is None or (operator == "is null" and field not in schema.fields):
        # Writers differ in whether they count a null struct as nulls of its fields.
        return None
    return _convert_term(operator, field, described)


def _operands(described: list[Any]) -> list[Any]:
    """All operands of nested uses of one operator."""
    operands, left = [], [described]
    while left:
        one = left.pop()
        if one[0] == described[0]:
            left.extend(reversed(one[1:]))
        else:
            operands.append(one)
    return operands


def _asks_for_nested_null(predicate: Predicate, schema: Schema) -> bool:
    match predicate:
        case IsNull(id=id):
            return schema.field(id) not in schema.fields
        case And(left=left, right=right) | Or(left=left, right=right):
            return _asks_for_nested_null(left, schema) or _asks_for_nested_null(right, schema)
    return False


def _column(schema: Schema, path: Sequence[str]) -> NestedField | None:
    """The field of a path through structs; a part may contain dots."""
    fields: tuple[NestedField, ...] = schema.fields
    found = None
    for part in path:
        found = next((field for field in fields if field.name == part), None)
        fields = found.type.fields if found is not None and isinstance(found.type, StructType) else ()
    return found


def _literals(operator: str, described: list[Any]) -> list[Any]:
    if operator == "in":
        literals: list[Any] = described[2]
        return literals
    return described[2:3]


def _convert_term(operator: str, field: NestedField, described: list[Any]) -> Predicate | None:
    if operator == "is null":
        return IsNull(field.id)
    if operator == "not null":
        return NotNull(field.id)
    if operator == "starts with":
        return StartsWith(field.id, described[2]) if isinstance(field.type, StringType) else None
    if operator == "in":
        return _convert_in(field, [_value(v) for v in described[2]])
    return _compare(operator, field, _value(described[2]))


def _convert_in(field: NestedField, values: list[Any]) -> Predicate | None:
    literals = [_literal(field.type, value) for value in values]
    if any(literal is None or _is_special(literal) for literal in literals):
        return None
    return In(field.id, frozenset(literals)) if literals else AlwaysFalse()


def _compare(operator: str, field: NestedField, value: Any) -> Predicate | None:
    """A comparison in Spark's order, in which NaN equals itself and is the greatest number; bounds never include
    NaN."""
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
    """The stored value of Spark's literal for a column of `type`; None for a literal of another type."""
    if isinstance(type, UuidType):
        return _uuid(value)
    for of, held in _HELD.items():
        if isinstance(type, of):
            return value if isinstance(value, held) and isinstance(value, bool) == (of is BooleanType) else None
    return None


def _uuid(text: Any) -> UUID | None:
    """The UUID of a text. Spark compares texts, whose order is that of UUIDs only in canonical form; None for other
    forms."""
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
