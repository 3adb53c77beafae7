"""Whether rows of a manifest, a partition or a file match a predicate, by ranges of columns (spec: "Scan Planning").

The outcome of a predicate is the set of truth values (true, false, SQL's unknown) that it may take within the ranges.
`may_match` means that true is one of them, `must_match` that it is the only one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntFlag
from typing import Any

from sqlext.scan.filter.measured_column import MetricsColumn
from sqlext.scan.filter.value_range import (
    EMPTY_RANGE,
    UNKNOWN_RANGE,
    RangeOf,
    ValueRange,
    is_nan,
    metrics_range,
    point_range,
    summary_range,
)
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
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.manifest import ManifestFile
from sqlext.spec.partition_spec import PartitionSpec
from sqlext.spec.types import Type


class Outcome(IntFlag):
    """The truth values that a predicate may take over a set of rows; empty for no rows."""

    NONE = 0
    TRUE = 1
    FALSE = 2
    UNKNOWN = 4


ANY_OUTCOME = Outcome.TRUE | Outcome.FALSE | Outcome.UNKNOWN


class Order(IntFlag):
    """The possible orders of a column's values and a literal."""

    LESS = 1
    EQUAL = 2
    GREATER = 4
    ANY = 7


ORDERS: Mapping[str, Order] = {
    "<": Order.LESS,
    "<=": Order.LESS | Order.EQUAL,
    ">": Order.GREATER,
    ">=": Order.GREATER | Order.EQUAL,
    "=": Order.EQUAL,
    "!=": Order.LESS | Order.GREATER,
}


def may_match(predicate: Predicate, range_of: RangeOf) -> bool:
    """False only if no row within the ranges matches the predicate."""
    return bool(outcomes(predicate, range_of) & Outcome.TRUE)


def must_match(predicate: Predicate, range_of: RangeOf) -> bool:
    """True only if all rows within the ranges match the predicate."""
    return not outcomes(predicate, range_of) & (Outcome.FALSE | Outcome.UNKNOWN)


def manifest_ranges(manifest: ManifestFile, spec: PartitionSpec, types: Mapping[int, Type]) -> RangeOf:
    """Ranges of partition fields in a manifest; `types` and the result are by partition field id."""
    positions = {field.field_id: position for position, field in enumerate(spec.fields)}

    def range_of(field_id: int) -> ValueRange:
        position = positions.get(field_id)
        summaries = manifest.partitions or ()
        if position is None or position >= len(summaries) or field_id not in types:
            return UNKNOWN_RANGE
        return summary_range(summaries[position], types[field_id])

    return range_of


def partition_ranges(partition: tuple[Any, ...], spec: PartitionSpec) -> RangeOf:
    """Ranges of partition fields in one partition, by partition field id."""
    ranges = {field.field_id: point_range(value) for field, value in zip(spec.fields, partition, strict=True)}
    return lambda field_id: ranges.get(field_id, UNKNOWN_RANGE)


def metrics_ranges(file: ContentFile, columns: Mapping[int, MetricsColumn]) -> RangeOf:
    """Ranges of a content file's columns by field id; unknown for those that are not in `columns`."""

    def range_of(field_id: int) -> ValueRange:
        column = columns.get(field_id)
        if column is None:
            return EMPTY_RANGE if file.record_count == 0 else UNKNOWN_RANGE
        return metrics_range(file, field_id, column)

    return range_of


def outcomes(predicate: Predicate, range_of: RangeOf) -> Outcome:
    """The truth values that `predicate` may take, perhaps with some that it cannot take."""
    return combined(predicate, lambda term: _term_outcomes(term, range_of(term.id)))


def combined(predicate: Predicate, of_term: Callable[[Any], Outcome]) -> Outcome:
    """The truth values that `predicate` may take if each term in it may take those of `of_term`."""
    match predicate:
        case AlwaysTrue():
            return Outcome.TRUE
        case AlwaysFalse():
            return Outcome.FALSE
        case Not():
            return negated(combined(predicate.child, of_term))
        case And():
            return conjoined(combined(predicate.left, of_term), combined(predicate.right, of_term))
        case Or():
            left, right = combined(predicate.left, of_term), combined(predicate.right, of_term)
            return negated(conjoined(negated(left), negated(right)))
        case _:
            return of_term(predicate)


def _term_outcomes(term: Any, values: ValueRange) -> Outcome:
    match term:
        case IsNull():
            return _null_outcomes(values)
        case NotNull():
            return negated(_null_outcomes(values))
        case IsNaN():
            return _nan_outcomes(values)
        case NotNaN():
            return negated(_nan_outcomes(values))
        case Comparison():
            return _comparison_outcomes(term.op, values, term.value)
        case In():
            return _membership_outcomes(term.values, values)
        case NotIn():
            return negated(_membership_outcomes(term.values, values))
        case InBucket():
            return _outcome(true=values.may_be_value, false=values.may_be_value, unknown=values.may_be_null)
        case StartsWith():
            return _prefix_outcomes(term.prefix, values)
    raise TypeError(f"no term: {term!r}")


def negated(outcome: Outcome) -> Outcome:
    """The outcomes of NOT."""
    swapped = outcome & Outcome.UNKNOWN
    if outcome & Outcome.TRUE:
        swapped |= Outcome.FALSE
    if outcome & Outcome.FALSE:
        swapped |= Outcome.TRUE
    return swapped


def conjoined(left: Outcome, right: Outcome) -> Outcome:
    """The outcomes of AND, with the sides taken as independent."""
    if not left or not right:
        return Outcome.NONE
    result = (left & right & Outcome.TRUE) | ((left | right) & Outcome.FALSE)
    not_false = Outcome.TRUE | Outcome.UNKNOWN
    if left & not_false and right & not_false:
        result |= (left | right) & Outcome.UNKNOWN
    return result


def _outcome(*, true: bool, false: bool, unknown: bool = False) -> Outcome:
    return (
        (Outcome.TRUE if true else Outcome.NONE)
        | (Outcome.FALSE if false else Outcome.NONE)
        | (Outcome.UNKNOWN if unknown else Outcome.NONE)
    )


def _null_outcomes(values: ValueRange) -> Outcome:
    return _outcome(true=values.may_be_null, false=values.may_be_value or values.may_be_nan)


def _nan_outcomes(values: ValueRange) -> Outcome:
    # isnan(NULL) is false in Spark and Iceberg, unknown in other engines; both are allowed.
    return _outcome(true=values.may_be_nan, false=values.may_be_value or values.may_be_null, unknown=values.may_be_null)


def _comparison_outcomes(op: str, values: ValueRange, literal: Any) -> Outcome:
    orders, wanted = _orders(values, literal), ORDERS[op]
    return _outcome(true=bool(orders & wanted), false=bool(orders & (Order.ANY ^ wanted)), unknown=values.may_be_null)


def _membership_outcomes(literals: frozenset[Any], values: ValueRange) -> Outcome:
    """The outcomes of IN, which is false only for a value that differs from all literals."""
    if values.lower is not None and values.lower == values.upper and values == point_range(values.lower):
        return Outcome.TRUE if values.lower in literals else Outcome.FALSE
    orders = [_orders(values, literal) for literal in literals]
    return _outcome(
        true=any(order & Order.EQUAL for order in orders),
        false=(values.may_be_value or values.may_be_nan) and all(order & ~Order.EQUAL for order in orders),
        unknown=values.may_be_null,
    )


def _orders(values: ValueRange, literal: Any) -> Order:
    orders = Order(0)
    if is_nan(literal):
        if values.may_be_value:
            orders |= Order.LESS
        if values.may_be_nan:
            orders |= Order.EQUAL
        return orders
    if values.may_be_nan:
        orders |= Order.GREATER
    if values.may_be_value:
        lower, upper = values.lower, values.upper
        if lower is None or lower < literal:
            orders |= Order.LESS
        if upper is None or upper > literal:
            orders |= Order.GREATER
        if (lower is None or lower <= literal) and (upper is None or upper >= literal):
            orders |= Order.EQUAL
    return orders


def _prefix_outcomes(prefix: Any, values: ValueRange) -> Outcome:
    if not values.may_be_value:
        return _outcome(true=False, false=False, unknown=values.may_be_null)
    lower, upper, width = values.lower, values.upper, len(prefix)
    may_start = (lower is None or lower[:width] <= prefix) and (upper is None or upper[:width] >= prefix)
    all_start = lower is not None and upper is not None and lower[:width] == prefix == upper[:width]
    return _outcome(true=may_start, false=not all_start, unknown=values.may_be_null)
