"""Row predicates over field ids, with stored values as literals and SQL's three-valued logic.

A predicate selects the rows for which it is true: neither a comparison nor its negation selects a row whose value is
null. Floats order as in Spark: NaN equals itself and is greater than every other value; -0.0 equals 0.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, Union

Operator: TypeAlias = Literal["<", "<=", ">", ">=", "=", "!="]

_OPPOSITE: dict[Operator, Operator] = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "=": "!=", "!=": "="}


@dataclass(frozen=True, slots=True)
class AlwaysTrue:
    pass


@dataclass(frozen=True, slots=True)
class AlwaysFalse:
    """True for no row, whether the predicate it replaces is false or unknown."""


@dataclass(frozen=True, slots=True)
class Not:
    child: Predicate


@dataclass(frozen=True, slots=True)
class And:
    left: Predicate
    right: Predicate


@dataclass(frozen=True, slots=True)
class Or:
    left: Predicate
    right: Predicate


@dataclass(frozen=True, slots=True)
class IsNull:
    id: int


@dataclass(frozen=True, slots=True)
class NotNull:
    id: int


@dataclass(frozen=True, slots=True)
class IsNaN:
    id: int


@dataclass(frozen=True, slots=True)
class NotNaN:
    """The value is neither NaN nor null."""

    id: int


@dataclass(frozen=True, slots=True)
class Comparison:
    op: Operator
    id: int
    value: Any


@dataclass(frozen=True, slots=True)
class In:
    """The value equals one of `values`, none of which is null."""

    id: int
    values: frozenset[Any]


@dataclass(frozen=True, slots=True)
class NotIn:
    """The value is not null and equals none of `values`, none of which is null."""

    id: int
    values: frozenset[Any]


@dataclass(frozen=True, slots=True)
class StartsWith:
    id: int
    prefix: str


@dataclass(frozen=True, slots=True)
class InBucket:
    """The value is not null and `bucket[count]` (spec: Partition Transforms) maps it to one of `buckets`."""

    id: int
    count: int
    buckets: frozenset[int]


Predicate: TypeAlias = Union[  # noqa: UP007 - the classes above name it before it exists
    AlwaysTrue, AlwaysFalse, Not, And, Or, IsNull, NotNull, IsNaN, NotNaN, Comparison, In, NotIn, StartsWith, InBucket
]


def negate(predicate: Predicate) -> Predicate:
    """The negation of `predicate`, unknown (null) wherever `predicate` is. `Not` remains only around `StartsWith`.

    An `AlwaysFalse` in `predicate` must mean false, not unknown.
    """
    match predicate:
        case AlwaysTrue():
            return AlwaysFalse()
        case AlwaysFalse():
            return AlwaysTrue()
        case Not(child=child):
            return push_down_not(child)
        case And(left=left, right=right):
            return Or(negate(left), negate(right))
        case Or(left=left, right=right):
            return And(negate(left), negate(right))
        case IsNull(id=id):
            return NotNull(id)
        case NotNull(id=id):
            return IsNull(id)
        case IsNaN(id=id):
            return NotNaN(id)
        case NotNaN(id=id):
            return IsNaN(id)
        case Comparison(op=op, id=id, value=value):
            return Comparison(_OPPOSITE[op], id, value)
        case In(id=id, values=values):
            return NotIn(id, values)
        case NotIn(id=id, values=values):
            return In(id, values)
        case InBucket(id=id, count=count, buckets=buckets):
            return InBucket(id, count, frozenset(range(count)) - buckets)
        case StartsWith():
            return Not(predicate)


def push_down_not(predicate: Predicate) -> Predicate:
    """An equivalent of `predicate` with `Not` only around `StartsWith`."""
    match predicate:
        case Not(child=child):
            return negate(child)
        case And(left=left, right=right):
            return And(push_down_not(left), push_down_not(right))
        case Or(left=left, right=right):
            return Or(push_down_not(left), push_down_not(right))
    return predicate


def conjunction(predicates: Iterable[Predicate]) -> Predicate:
    """The AND of `predicates`, as a balanced tree so that recursion over it stays shallow; `AlwaysTrue` for none."""
    return _balanced(_and, predicates, AlwaysTrue())


def conjuncts(predicate: Predicate) -> Iterator[Predicate]:
    """The predicates that all hold where `predicate` does: the parts of its ANDs, in order."""
    left = [predicate]
    while left:
        match left.pop():
            case And(one, other):
                left += (other, one)
            case part:
                yield part


def disjunction(predicates: Iterable[Predicate]) -> Predicate:
    """The OR of `predicates`, as a balanced tree; `AlwaysFalse` for none."""
    return _balanced(_or, predicates, AlwaysFalse())


def _balanced(
    join: Callable[[Predicate, Predicate], Predicate], predicates: Iterable[Predicate], none: Predicate
) -> Predicate:
    level = list(predicates)
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        level = [*(join(*pair) for pair in pairs), *(level[-1:] if len(level) % 2 else ())]
    return level[0] if level else none


def _and(left: Predicate, right: Predicate) -> Predicate:
    if isinstance(left, AlwaysTrue) or isinstance(right, AlwaysFalse):
        return right
    if isinstance(right, AlwaysTrue) or isinstance(left, AlwaysFalse):
        return left
    return And(left, right)


def _or(left: Predicate, right: Predicate) -> Predicate:
    if isinstance(left, AlwaysTrue) or isinstance(right, AlwaysFalse):
        return left
    if isinstance(right, AlwaysTrue) or isinstance(left, AlwaysFalse):
        return right
    return Or(left, right)


def referenced_field_ids(predicate: Predicate) -> set[int]:
    """Ids of the fields that `predicate` refers to."""
    match predicate:
        case AlwaysTrue() | AlwaysFalse():
            return set()
        case Not(child=child):
            return referenced_field_ids(child)
        case And(left=left, right=right) | Or(left=left, right=right):
            return referenced_field_ids(left) | referenced_field_ids(right)
    return {predicate.id}
