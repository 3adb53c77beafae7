"""Comparisons of Arrow arrays as Spark makes them: NaN equals itself and is the greatest number, -0.0 equals 0.0.

Texts and bytes are compared by unsigned bytes, and a comparison with null is null.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from sqlext.spec.expression import Operator

Values: TypeAlias = "pa.Array | pa.Scalar"

_COMPUTED: Mapping[Operator, Callable[[Any, Any], Any]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
MIRRORED: Mapping[Operator, Operator] = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The operator of the same comparison with its sides exchanged."""


def compared(op: Operator, left: Values, right: Values) -> Values:
    """The truth of `left op right` for values of one type."""
    if not pa.types.is_floating(left.type):
        return _COMPUTED[op](left, right)
    match op:
        case "=":
            return _equal_numbers(left, right)
        case "!=":
            return pc.invert(_equal_numbers(left, right))
        case "<":
            return _less_number(left, right)
        case ">":
            return _less_number(right, left)
        case "<=":
            return pc.invert(_less_number(right, left))
    return pc.invert(_less_number(left, right))


def equal_or_both_null(left: Values, right: Values) -> Values:
    """Spark's `<=>`, which is never null."""
    both = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.or_(both, pc.fill_null(compared("=", left, right), False))


def _equal_numbers(left: Values, right: Values) -> Values:
    return pc.or_(pc.equal(left, right), pc.and_(pc.is_nan(left), pc.is_nan(right)))


def _less_number(left: Values, right: Values) -> Values:
    return pc.or_(pc.less(left, right), pc.and_(pc.invert(pc.is_nan(left)), pc.is_nan(right)))
