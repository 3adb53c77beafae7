"""Pruning by the rules of `pruning`, vectorised over all entries of a manifest.

The outcomes of a term are computed as vectors if metrics have one form, otherwise entry by entry. They are combined by
tables that are made with the functions of `pruning`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sqlext.scan.filter.bound_column import bound_column, in_any_order
from sqlext.scan.filter.entry_counts import counts_by_entry
from sqlext.scan.filter.measured_column import MetricsColumn
from sqlext.scan.filter.partition_outcomes import partition_outcomes
from sqlext.scan.filter.pruning import ANY_OUTCOME, ORDERS, Order, Outcome, conjoined, negated, outcomes
from sqlext.scan.filter.value_range import (
    UNKNOWN_RANGE,
    UNORDERED,
    ValueRange,
    decode_bounds,
    is_nan,
    point_range,
)
from sqlext.spec.avro.column import Mask, Octets
from sqlext.spec.expression import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Comparison,
    In,
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
from sqlext.spec.manifests.manifest_columns import ManifestColumns
from sqlext.spec.partition_spec import PartitionSpec
from sqlext.spec.types import UuidType

Outcomes: TypeAlias = npt.NDArray[np.uint8]
"""`Outcome` flags by entry, or a single element for all."""

_MANY_VALUES = 50
# numpy would convert the flags themselves to 64-bit integers.
_TRUE, _FALSE, _UNKNOWN = np.uint8(Outcome.TRUE), np.uint8(Outcome.FALSE), np.uint8(Outcome.UNKNOWN)
_LESS, _EQUAL, _GREATER = np.uint8(Order.LESS), np.uint8(Order.EQUAL), np.uint8(Order.GREATER)
_ALL = [Outcome(flags) for flags in range(8)]
_NEGATED = np.asarray([negated(one) for one in _ALL], np.uint8)
_CONJOINED = np.asarray([[conjoined(left, right) for right in _ALL] for left in _ALL], np.uint8)


def partitions_may_match(projected: Predicate, columns: ManifestColumns, spec: PartitionSpec) -> Mask:
    """Whether the partition of each entry may match `projected`, a predicate over partition fields."""
    positions = {field.field_id: position for position, field in enumerate(spec.fields)}

    def of_term(term: Any) -> Outcomes:
        if term.id not in positions:
            return _same(outcomes(term, lambda _: UNKNOWN_RANGE))
        return _by_partition(columns, positions[term.id], lambda value: outcomes(term, lambda _: point_range(value)))

    return _may_match(projected, of_term, columns.size)


def metrics_may_match(predicate: Predicate, columns: ManifestColumns, known: Mapping[int, MetricsColumn]) -> Mask:
    """Whether a row of each entry's file may match, by the metrics of the columns `known`."""
    has_rows: Mask = columns.record_count.array() != 0
    return has_rows & _may_match(predicate, _by_metrics(columns, known), columns.size)


def must_match(
    predicate: Predicate, columns: ManifestColumns, spec: PartitionSpec, known: Mapping[int, MetricsColumn]
) -> Mask:
    """Whether partition and metrics of each entry's file prove that all its rows match."""
    by_metrics = _by_metrics(columns, known)

    def of_term(term: Any) -> Outcomes:
        found = by_metrics(term)
        for position, field in enumerate(spec.fields):
            if field.source_id == term.id and term.id in known:
                of_partition = partial(partition_outcomes, term, field, known[term.id].type)
                found = found & _by_partition(columns, position, of_partition)
        return np.where(found == Outcome.NONE, np.uint8(ANY_OUTCOME), found)  # partition and metrics contradict

    return np.broadcast_to(_combined(predicate, of_term) & (_FALSE | _UNKNOWN) == 0, (columns.size,))


def _by_partition(columns: ManifestColumns, position: int, outcome_of: Callable[[Any], Outcome]) -> Outcomes:
    column = columns.partition[position]
    found: Outcomes = np.asarray([outcome_of(value) for value in column.values], np.uint8)[column.codes]
    return found


def _by_metrics(columns: ManifestColumns, known: Mapping[int, MetricsColumn]) -> Callable[[Any], Outcomes]:
    ranges: dict[int, _Ranges] = {}

    def of_term(term: Any) -> Outcomes:
        column = known.get(term.id)
        if column is None or isinstance(column.type, UNORDERED):
            return _same(outcomes(term, lambda _: UNKNOWN_RANGE))
        if term.id not in ranges:
            ranges[term.id] = _Ranges(columns, term.id, column)
        return ranges[term.id].outcomes(term)

    return of_term


def _may_match(predicate: Predicate, of_term: Callable[[Any], Outcomes], size: int) -> Mask:
    return np.broadcast_to(_combined(predicate, of_term) & _TRUE != 0, (size,))


def _combined(predicate: Predicate, of_term: Callable[[Any], Outcomes]) -> Outcomes:
    match predicate:
        case AlwaysTrue():
            return _same(Outcome.TRUE)
        case AlwaysFalse():
            return _same(Outcome.FALSE)
        case Not():
            return _NEGATED[_combined(predicate.child, of_term)]
        case And():
            return _CONJOINED[_combined(predicate.left, of_term), _combined(predicate.right, of_term)]
        case Or():
            left, right = _combined(predicate.left, of_term), _combined(predicate.right, of_term)
            return _NEGATED[_CONJOINED[_NEGATED[left], _NEGATED[right]]]
        case NotNull():
            return _NEGATED[of_term(IsNull(predicate.id))]
        case NotNaN():
            return _NEGATED[of_term(IsNaN(predicate.id))]
        case NotIn():
            return _NEGATED[of_term(In(predicate.id, predicate.values))]
        case _:
            return of_term(predicate)


def _same(outcome: Outcome) -> Outcomes:
    return np.asarray([outcome], np.uint8)


def _flags(true: Mask, false: Mask, unknown: Mask) -> Outcomes:
    flags: Outcomes = _TRUE * true | _FALSE * false | _UNKNOWN * unknown
    return flags


class _Ranges:
    """The ranges (`ValueRange`) of one column over the files of all entries."""

    def __init__(self, columns: ManifestColumns, field_id: int, column: MetricsColumn) -> None:
        self._columns = columns
        self._field_id = field_id
        self._type = column.type
        self._size = columns.size
        records, counts = columns.record_count.array(), counts_by_entry(columns, field_id, column)
        self._may_be_null = counts.nulls != 0
        nulls, nans = np.maximum(counts.nulls, 0), np.maximum(counts.nans, 0)
        self._may_be_nan = (counts.nans != 0) & (nulls != records)
        self._may_be_value = nulls + nans != records
        lower, upper = self._bounds("lower_bounds"), self._bounds("upper_bounds")
        if isinstance(column.type, UuidType):
            lower, upper = in_any_order(lower, upper)
        self._lower = bound_column(lower, column.type, self._size)
        self._upper = bound_column(upper, column.type, self._size)

    def outcomes(self, term: Any) -> Outcomes:
        found = self._vectorised(term)
        return self._one_by_one(term) if found is None else found

    def _vectorised(self, term: Any) -> Outcomes | None:
        """The outcomes of a term; None if bounds or literals do not have one form."""
        has_value = self._may_be_value | self._may_be_nan
        match term:
            case IsNull():
                return _flags(self._may_be_null, has_value, np.zeros(self._size, np.bool_))
            case IsNaN():
                return _flags(self._may_be_nan, self._may_be_value | self._may_be_null, self._may_be_null)
        if self._lower is None or self._upper is None:
            return None
        match term:
            case Comparison(op=op, value=value):
                orders = self._orders(value)
                if orders is None:
                    return None
                wanted, others = np.uint8(ORDERS[op]), np.uint8(Order.ANY ^ ORDERS[op])
                return _flags(orders & wanted != 0, orders & others != 0, self._may_be_null)
            case In(values=values) if len(values) > _MANY_VALUES:
                return self._many_values(values)
            case In(values=values):
                all_orders = [self._orders(value) for value in values]
                true, false = np.zeros(self._size, np.bool_), has_value
                for orders in all_orders:
                    if orders is None:
                        return None
                    true = true | (orders & _EQUAL != 0)
                    false = false & (orders & (_LESS | _GREATER) != 0)
                return _flags(true, false, self._may_be_null)
            case StartsWith(prefix=prefix):
                return self._starts_with(prefix)
        return None

    def _many_values(self, literals: frozenset[Any]) -> Outcomes | None:
        """Outcomes of IN by the least and largest literal only, so false is always possible for a value."""
        ordered = sorted(literal for literal in literals if not is_nan(literal))
        if not ordered:
            return None
        least, largest = self._orders(ordered[0]), self._orders(ordered[-1])
        if least is None or largest is None:
            return None
        inside = (least & (_EQUAL | _GREATER) != 0) & (largest & (_LESS | _EQUAL) != 0)
        has_value = self._may_be_value | self._may_be_nan
        nan = self._may_be_nan if len(ordered) < len(literals) else np.zeros(self._size, np.bool_)
        return _flags(inside | nan, has_value, self._may_be_null)

    def _orders(self, literal: Any) -> npt.NDArray[np.uint8] | None:
        """`Order` flags by entry."""
        if is_nan(literal):
            beside_nan: Outcomes = _LESS * self._may_be_value | _EQUAL * self._may_be_nan
            return beside_nan
        assert self._lower is not None
        assert self._upper is not None
        lower, upper = self._lower.compared(literal), self._upper.compared(literal)
        if lower is None or upper is None:
            return None
        equal = self._may_be_value & lower.may_be_at_most & upper.may_be_at_least
        greater = self._may_be_nan | (self._may_be_value & upper.may_be_greater)
        less = self._may_be_value & lower.may_be_less
        orders: Outcomes = _LESS * less | _EQUAL * equal | _GREATER * greater
        return orders

    def _starts_with(self, prefix: Any) -> Outcomes | None:
        assert self._lower is not None
        assert self._upper is not None
        lower, upper = self._lower.compared_with_prefix(prefix), self._upper.compared_with_prefix(prefix)
        if lower is None or upper is None:
            return None
        may_start = self._may_be_value & lower.may_be_at_most & upper.may_be_at_least
        all_start = lower.is_equal & upper.is_equal
        return _flags(may_start, self._may_be_value & ~all_start, self._may_be_null)

    def _one_by_one(self, term: Any) -> Outcomes:
        rows = range(self._size)
        lower, upper = (
            [None] * self._size if column is None else column.pick(rows)
            for column in (self._bounds("lower_bounds"), self._bounds("upper_bounds"))
        )
        found = np.zeros(self._size, np.uint8)
        counts = (self._may_be_null.tolist(), self._may_be_nan.tolist(), self._may_be_value.tolist())
        for row, null, nan, value, low, high in zip(rows, *counts, lower, upper, strict=True):
            of_row = ValueRange(null, nan, value, *decode_bounds(self._type, low, high))
            found[row] = outcomes(term, lambda _, of_row=of_row: of_row)  # type: ignore[misc]
        return found

    def _bounds(self, name: str) -> Octets | None:
        column = self._columns.metric(name, self._field_id)
        assert column is None or isinstance(column, Octets)
        return column
