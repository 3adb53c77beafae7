"""Filters on a partition transform of a column, such as `system.days(ts) = DATE'2024-01-01'`, as predicates on the
column."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlext.spec.expression import And, Comparison, In, InBucket, IsNull, NotNull, Predicate, StartsWith, disjunction
from sqlext.spec.transform import (
    DayTransform,
    HourTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    YearTransform,
    least_source_value,
)
from sqlext.spec.types import (
    BinaryType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
)

_TIMES: Mapping[str, Transform] = {
    "years": YearTransform(),
    "months": MonthTransform(),
    "days": DayTransform(),
    "hours": HourTransform(),
}
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}
# For other types Spark has another type, whose values are in other buckets.
_HASHED_ALIKE = (
    IntegerType, LongType, DecimalType, DateType, TimestampType, TimestamptzType, StringType, BinaryType,
)  # fmt: skip
_MOST_BUCKETS = 10_000
_MOST_VALUES = 50
_HALF = {IntegerType: 2**31, LongType: 2**63}


def transform_term(
    name: str, number: int | None, field: NestedField, operator: str, values: Sequence[Any]
) -> Predicate | None:
    """The predicate for a comparison of a transform of a top-level column to `values`; None if it cannot be expressed.

    `name` is the function's; `operator` is a comparison, `in`, `is null` or `not null`.
    """
    if operator in ("is null", "not null"):
        return IsNull(field.id) if operator == "is null" else NotNull(field.id)
    if len(values) > _MOST_VALUES or not values:
        return None
    if name == "bucket" and number is not None and isinstance(field.type, _HASHED_ALIKE):
        return _buckets(number, field, operator, values)
    if name == "truncate" and number is not None and operator in ("=", "in"):
        return _any(_truncated(TruncateTransform(number), field, value) for value in values)
    transform = _TIMES.get(name)
    if transform is None or not transform.can_transform(field.type):
        return None
    if operator == "in":
        return _any(_cells(transform, field, "=", value) for value in values)
    return _cells(transform, field, operator, values[0])


def _any(predicates: Any) -> Predicate | None:
    said = list(predicates)
    return None if None in said else disjunction(said)


def _buckets(count: int, field: NestedField, operator: str, values: Sequence[int]) -> Predicate | None:
    if not 0 < count <= _MOST_BUCKETS:
        return None
    if operator == "in":
        return InBucket(field.id, count, frozenset(values) & frozenset(range(count)))
    compare = _COMPARE.get(operator)
    if compare is None:
        return None
    return InBucket(field.id, count, frozenset(one for one in range(count) if compare(one, values[0])))


def _cells(transform: Transform, field: NestedField, operator: str, value: int) -> Predicate | None:
    """The predicate for an order-preserving transform to integers."""
    try:
        first, behind = (least_source_value(transform, field.type, cell) for cell in (value, value + 1))
    except (ValueError, OverflowError):
        return None
    match operator:
        case "=":
            return And(Comparison(">=", field.id, first), Comparison("<", field.id, behind))
        case "<":
            return Comparison("<", field.id, first)
        case "<=":
            return Comparison("<", field.id, behind)
        case ">":
            return Comparison(">=", field.id, behind)
        case ">=":
            return Comparison(">=", field.id, first)
    return None


def _truncated(transform: TruncateTransform, field: NestedField, value: Any) -> Predicate | None:
    width = transform.width
    if isinstance(field.type, StringType) and isinstance(value, str) and width > 0:
        if len(value) > width:
            return In(field.id, frozenset())
        return StartsWith(field.id, value) if len(value) == width else Comparison("=", field.id, value)
    half = _HALF.get(type(field.type))
    # The transform overflows at the ends of the type.
    if half is None or not isinstance(value, int) or width <= 0 or not width - half <= value < half - 2 * width:
        return None
    if value % width:
        return In(field.id, frozenset())
    return And(Comparison(">=", field.id, value), Comparison("<", field.id, value + width))
