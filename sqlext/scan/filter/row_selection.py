"""The rows that a predicate selects, by their values in Arrow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sqlext.scan.filter.arrow_comparison import compared
from sqlext.scan.filter.arrow_literals import literal_array, literal_scalar
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
    push_down_not,
)


def is_evaluated(predicate: Predicate) -> bool:
    """Whether `selection_mask` knows each term of the predicate. Buckets of values are not computed."""
    match predicate:
        case Not(child=child):
            return is_evaluated(child)
        case And(left=left, right=right) | Or(left=left, right=right):
            return is_evaluated(left) and is_evaluated(right)
    return not isinstance(predicate, InBucket)


def selection_mask(predicate: Predicate, columns: Mapping[int, pa.Array], count: int) -> NDArray[np.bool_]:
    """Whether the predicate, for which `is_evaluated` is true, selects each of `count` rows, whose columns are by field
    id. A column may have codes of a dictionary. Raises ArrowInvalid or OverflowError for a value that
    a column cannot hold."""
    truth = _truth(push_down_not(predicate), columns)
    if isinstance(truth, pa.Scalar):
        return np.full(count, truth.as_py() is True)
    chosen: NDArray[np.bool_] = pc.fill_null(truth, False).to_numpy(zero_copy_only=False)
    return chosen


def _truth(predicate: Predicate, columns: Mapping[int, pa.Array]) -> Any:
    match predicate:
        case AlwaysTrue() | AlwaysFalse():
            return pa.scalar(isinstance(predicate, AlwaysTrue))
        case Not(child=child):
            return pc.invert(_truth(child, columns))
        case And(left=left, right=right):
            return pc.and_kleene(_truth(left, columns), _truth(right, columns))
        case Or(left=left, right=right):
            return pc.or_kleene(_truth(left, columns), _truth(right, columns))
        case IsNull(id=id):
            return pc.is_null(columns[id])
        case NotNull(id=id):
            return pc.is_valid(columns[id])
    return _of_values(lambda values: _term(predicate, values), columns[predicate.id])


def _of_values(term: Callable[[pa.Array], pa.Array], column: pa.Array) -> pa.Array:
    """The term of each row, which is null for null."""
    if pa.types.is_dictionary(column.type):
        return term(column.dictionary).take(column.indices)
    return term(column)


def _term(term: Predicate, values: pa.Array) -> pa.Array:
    match term:
        case Comparison(op=op, value=value):
            return compared(op, values, literal_scalar(value, values.type))
        case In(values=listed):
            return _is_in(values, listed)
        case NotIn(values=listed):
            return pc.invert(_is_in(values, listed))
        case IsNaN():
            return pc.is_nan(values)
        case NotNaN():
            return pc.invert(pc.is_nan(values))
        case StartsWith(prefix=prefix):
            return pc.starts_with(values, prefix)
    raise TypeError(f"{term} is not evaluated here")


def _is_in(values: pa.Array, listed: frozenset[Any]) -> pa.Array:
    found, sought = values, literal_array(listed, values.type)
    if pa.types.is_floating(values.type):
        # 0.0 and -0.0 are equal in SQL and two values to Arrow.
        zero = pa.scalar(0.0, values.type)
        found, sought = pc.add(values, zero), pc.add(sought, zero)
    truth = pc.is_in(found, value_set=sought)
    return pc.if_else(pc.is_valid(values), truth, pa.scalar(None, pa.bool_()))
