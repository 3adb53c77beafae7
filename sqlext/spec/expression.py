"""Row predicates over field ids, with stored values as literals; three-valued as in SQL.

A predicate selects the rows for which it is true: neither a comparison nor its negation selects a row whose value is
null. Floats order as in Spark: NaN equals itself and is greater than every other value; -0.0 equals 0.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, Union

Operator: TypeAlias = Literal["<", "<=", ">", ">=", "=", "!="]

_OPPOSITE: dict[Operator, Operator] = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "=": "!=", "!=": "="}


@dataclass(frozen=True, slots=True)
class AlwaysTrue:
    pass


@dataclass(frozen=True, slots=True)
class AlwaysFalse:
    """True for no row: false, or unknown."""


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
    """The value is not NaN; like every comparison, not true of null."""

    id: int


@dataclass(frozen=True, slots=True)
class Comparison:
    op: Operator
    id: int
    value: Any


@dataclass(frozen=True, slots=True)
class In:
    """The value equals one of `values`, which holds no null."""

    id: int
    values: frozenset[Any]


@dataclass(frozen=True, slots=True)
class NotIn:
    """The value is not null and equals none of `values`, which holds no null."""

    id: int
    values: frozenset[Any]


@dataclass(frozen=True, slots=True)
class StartsWith:
    id: int
    prefix: str


@dataclass(frozen=True, slots=True)
class InBucket:
    """The value is not null, and its bucket of `count` is one of `buckets`."""

    id: int
    count: int
    buckets: frozenset[int]


Predicate: TypeAlias = Union[  # noqa: UP007 - the classes above name it before it exists
    AlwaysTrue, AlwaysFalse, Not, And, Or, IsNull, NotNull, IsNaN, NotNaN, Comparison, In, NotIn, StartsWith, InBucket
]


def negate(predicate: Predicate) -> Predicate:
    """A predicate true where `predicate` is false. `Not` remains only around `StartsWith`.

    Where `predicate` is unknown (null), so is the result. `AlwaysFalse` must stand for false, not for unknown.
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
    """An equal predicate in which `Not` stands only around `StartsWith`."""
    match predicate:
        case Not(child=child):
            return negate(child)
        case And(left=left, right=right):
            return And(push_down_not(left), push_down_not(right))
        case Or(left=left, right=right):
            return Or(push_down_not(left), push_down_not(right))
    return predicate


def conjunction(predicates: Iterable[Predicate]) -> Predicate:
    """All of them; `AlwaysTrue` for none. However many they are, what goes down the predicate does not go deep."""
    return _balanced(_and, predicates, AlwaysTrue())


def disjunction(predicates: Iterable[Predicate]) -> Predicate:
    """One of them at least; `AlwaysFalse` for none. As `conjunction`."""
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


def bind_fields(predicate: Predicate) -> set[int]:
    """The ids of the fields a predicate speaks of."""
    match predicate:
        case AlwaysTrue() | AlwaysFalse():
            return set()
        case Not(child=child):
            return bind_fields(child)
        case And(left=left, right=right) | Or(left=left, right=right):
            return bind_fields(left) | bind_fields(right)
    return {predicate.id}
