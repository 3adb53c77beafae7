"""Comparisons of a row's value with a constant or with another value, as Spark casts the two sides."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from sqlext.local.condition_truth import RowTruth, same_for_all
from sqlext.local.condition_value import (
    FLOATS,
    INT_RANGE,
    LONG_RANGE,
    WHOLE,
    Columns,
    Constant,
    NotHere,
    Operand,
    RowValue,
    as_decimals,
    as_numbers,
    constant_of,
)
from sqlext.scan.filter.arrow_comparison import compared
from sqlext.scan.filter.arrow_literals import literal_scalar
from sqlext.spec.expression import Comparison, IsNaN, Operator, Or
from sqlext.spec.types import DecimalType, DoubleType, IntegerType, Type

_MOST_DIGITS = 38


def alike(left: RowValue, right: RowValue) -> list[Callable[[Columns], Any]]:
    """Both sides as values of one type, as Spark casts them."""
    if all(isinstance(one.type, (*WHOLE, *FLOATS, DecimalType)) for one in (left, right)):
        return _alike_numbers(left, right)
    if left.type != right.type:
        raise NotHere(f"Spark casts one side of a comparison of {left.type} with {right.type}")
    return [left.of, right.of]


def _alike_numbers(left: RowValue, right: RowValue) -> list[Callable[[Columns], Any]]:
    types = (left.type, right.type)
    if any(isinstance(one, FLOATS) for one in types):
        if any(isinstance(one, DecimalType) for one in types):
            raise NotHere("Spark casts decimals to doubles in a comparison with these")
        if types[0] == types[1]:
            return [left.of, right.of]
        return [as_double(left), as_double(right)]
    if any(isinstance(one, DecimalType) for one in types):
        scale = max(one.scale for one in types if isinstance(one, DecimalType))
        _require_exact(*map(_digits, types))
        return [
            lambda columns: as_decimals(left.of(columns), scale),
            lambda columns: as_decimals(right.of(columns), scale),
        ]
    return [as_whole(left, pa.int64()), as_whole(right, pa.int64())]


def compared_with_constant(op: Operator, value: RowValue, constant: Constant) -> RowTruth:
    """The comparison. Raises NotHere where Spark would cast the two sides to a type that is not known here."""
    id = None if value.field is None else value.field.id
    if isinstance(value.type, FLOATS):
        return _float_with_constant(op, value, float(_require_number(constant)))
    if isinstance(value.type, (*WHOLE, DecimalType)):
        number = _require_number(constant)
        if isinstance(number, float):
            if isinstance(value.type, DecimalType):
                raise NotHere("Spark casts decimals to doubles in a comparison with these")
            side = as_double(value)
            return RowTruth(lambda columns: compared(op, side(columns), pa.scalar(number, pa.float64())))
        return _exact_with_constant(op, value, Decimal(number))
    stored = constant_of(constant, value.type)

    def of(columns: Columns) -> Any:
        values = value.of(columns)
        return compared(op, values, literal_scalar(stored, values.type))

    return RowTruth.by(of, None if id is None else Comparison(op, id, stored))


def _require_number(constant: Constant) -> int | Decimal | float:
    value = constant.value
    if isinstance(value, bool) or not isinstance(value, int | Decimal | float):
        raise NotHere(f"Spark casts one side of a comparison of a number with {value!r}")
    return value


def _float_with_constant(op: Operator, value: RowValue, number: float) -> RowTruth:
    side = as_double(value)

    def of(columns: Columns) -> Any:
        return compared(op, side(columns), pa.scalar(number, pa.float64()))

    id = None if value.field is None else value.field.id
    if id is None or not math.isfinite(number) or not _is_held(value.type, number):
        return RowTruth(of)
    comparison = Comparison(op, id, number)
    return RowTruth.by(of, Or(comparison, IsNaN(id)) if op in (">", ">=", "!=") else comparison)


def _is_held(type: Type, number: float) -> bool:
    """Whether a float or double may be the number, so that bounds of files can be compared with it."""
    with np.errstate(over="ignore"):
        return isinstance(type, DoubleType) or float(np.float32(number)) == number


def _exact_with_constant(op: Operator, value: RowValue, number: Decimal) -> RowTruth:
    """A comparison of integers or decimals with a number that may lie between two of their values, or beyond all."""
    scale = value.type.scale if isinstance(value.type, DecimalType) else 0
    _require_exact(_digits(value.type), _digits_of(number))
    if isinstance(value.type, WHOLE) and not LONG_RANGE.start <= number < LONG_RANGE.stop:
        raise NotHere(f"Spark takes a comparison of {value.type} with {number} for true or false of null too")
    steps = Fraction(number) * 10**scale
    below, above = math.floor(steps), math.ceil(steps)
    least, most = _range(value.type)
    if below < least or above > most or below != above:
        if op in ("=", "!="):
            return same_for_all(value, op == "!=")
        if above > most:
            return same_for_all(value, op in ("<", "<="))
        if below < least:
            return same_for_all(value, op in (">", ">="))
        # x < 3.5 and x <= 3.5 are x <= 3, and the others x >= 4.
        op, below = ("<=", below) if op in ("<", "<=") else (">=", above)
    stored = below if isinstance(value.type, WHOLE) else Decimal(f"{below}E-{scale}")

    def of(columns: Columns) -> Any:
        values = value.of(columns)
        return compared(op, values, pa.scalar(stored, values.type))

    return RowTruth.by(of, None if value.field is None else Comparison(op, value.field.id, stored))


def _require_exact(*digits: tuple[int, int]) -> None:
    """Raises NotHere unless a decimal has place for all digits, before and behind the point, of both sides: Spark would
    round one of them."""
    if sum(max(of_side[at] for of_side in digits) for at in (0, 1)) > _MOST_DIGITS:
        raise NotHere(f"Spark rounds one side of a comparison of decimals that need more than {_MOST_DIGITS} digits")


def _digits(type: Type) -> tuple[int, int]:
    """The digits of a type's values before and behind the point."""
    if isinstance(type, DecimalType):
        return type.precision - type.scale, type.scale
    return (10, 0) if isinstance(type, IntegerType) else (20, 0)


def _digits_of(number: Decimal) -> tuple[int, int]:
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int), "it is finite"
    return max(len(digits) + exponent, 0), max(-exponent, 0)


def _range(type: Type) -> tuple[int, int]:
    if isinstance(type, DecimalType):
        return -(10**type.precision) + 1, 10**type.precision - 1
    values = INT_RANGE if isinstance(type, IntegerType) else LONG_RANGE
    return values.start, values.stop - 1


def as_whole(operand: Operand, type: pa.DataType) -> Callable[[Columns], Any]:
    """The whole numbers, in 32 or 64 bits."""
    if isinstance(operand, Constant):
        return lambda columns: pa.scalar(operand.value, type)
    return lambda columns: operand.of(columns).cast(type)


def as_double(operand: Operand) -> Callable[[Columns], Any]:
    """The numbers as doubles. Raises NotHere for a constant that is none."""
    if isinstance(operand, Constant):
        number = float(_require_number(operand))
        return lambda columns: pa.scalar(number, pa.float64())
    return lambda columns: as_numbers(operand.of(columns))
