"""Truth values of rows in SQL's three-valued logic, each with the predicates on field ids that select the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sqlext.local.condition_value import Columns, NotHere, RowValue
from sqlext.spec.expression import (
    AlwaysFalse,
    AlwaysTrue,
    NotNull,
    Predicate,
    StartsWith,
    conjunction,
    disjunction,
    negate,
)


@dataclass(frozen=True, slots=True)
class RowTruth:
    """Whether a condition is true, false or null for each row.

    `exact` selects the rows for which it is true, None if no predicate does; `pruning` selects them and perhaps more.
    """

    of: Callable[[Columns], Any]
    exact: Predicate | None = None
    pruning: Predicate = AlwaysTrue()  # noqa: RUF009 - it is frozen

    @classmethod
    def by(cls, of: Callable[[Columns], Any], exact: Predicate | None) -> RowTruth:
        return cls(of, exact, AlwaysTrue() if exact is None else exact)


UNKNOWN = RowTruth(lambda columns: pa.scalar(None, pa.bool_()), None, AlwaysFalse())


def all_of(parts: Iterable[RowTruth]) -> RowTruth:
    """Their AND."""
    found = list(parts)
    exact = [one.exact for one in found]
    return RowTruth(
        lambda columns: reduce(pc.and_kleene, (one.of(columns) for one in found)),
        None if None in exact else conjunction(one for one in exact if one is not None),
        conjunction(one.pruning for one in found),
    )


def any_of(parts: Iterable[RowTruth]) -> RowTruth:
    """Their OR. Raises NotHere for none."""
    found = list(parts)
    if not found:
        raise NotHere("it holds an empty list")
    exact = [one.exact for one in found]
    return RowTruth(
        lambda columns: reduce(pc.or_kleene, (one.of(columns) for one in found)),
        None if None in exact else disjunction(one for one in exact if one is not None),
        disjunction(one.pruning for one in found),
    )


def negated(truth: RowTruth) -> RowTruth:
    """Its NOT."""
    return RowTruth.by(
        lambda columns: pc.invert(truth.of(columns)), None if truth.exact is None else negate(truth.exact)
    )


def same_for_all(value: RowValue, answer: bool) -> RowTruth:
    """One answer for all values, and null for null."""

    def of(columns: Columns) -> Any:
        values = value.of(columns)
        return pc.if_else(pc.is_valid(values), pa.scalar(answer), pa.scalar(None, pa.bool_()))

    if not answer:
        return RowTruth(of, None, AlwaysFalse())
    top = value.field is not None and value.is_top_level
    return RowTruth(of, None, NotNull(value.field.id) if top and value.field is not None else AlwaysTrue())


def with_ends(value: RowValue, first: str, last: str = "") -> RowTruth:
    """Whether a text begins with `first` and, behind that, ends with `last`."""

    def of(columns: Columns) -> Any:
        texts = value.of(columns)
        found = pc.starts_with(texts, first)
        if last:
            least = pa.scalar(len(first.encode()) + len(last.encode()), pa.int32())
            is_long = pc.greater_equal(pc.binary_length(texts), least)
            found = pc.and_(found, pc.and_(pc.ends_with(texts, last), is_long))
        return found

    if value.field is None or not first:
        return RowTruth(of)
    begins = StartsWith(value.field.id, first)
    return RowTruth(of, None if last else begins, begins)


def holding(value: RowValue, part: str) -> RowTruth:
    """Whether a text has this part anywhere."""
    return RowTruth(lambda columns: pc.match_substring(value.of(columns), part))
