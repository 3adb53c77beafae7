"""Type promotion (spec: Schema Evolution)."""

from __future__ import annotations

from typing import Any

from sqlext.spec.iso_date_time import MICROS_PER_SECOND, NANOS_PER_SECOND, SECONDS_PER_DAY
from sqlext.spec.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    TimestampNanoType,
    TimestampType,
    Type,
    UnknownType,
)


def is_promotion(before: Type, after: Type, format_version: int) -> bool:
    """Whether the format version allows the promotion of `before` to `after`; True for equal types."""
    if before == after:
        return True
    match before, after:
        case (IntegerType(), LongType()) | (FloatType(), DoubleType()):
            return True
        case DecimalType(), DecimalType():
            return before.scale == after.scale and before.precision <= after.precision
        case (DateType(), TimestampType() | TimestampNanoType()):
            return format_version >= 3
        case UnknownType(), _:
            return format_version >= 3
    return False


def promoted_value(before: Type, after: Type, value: Any) -> Any:
    """A stored value of type `before` as a stored value of type `after`, to which `before` is promoted."""
    if value is None or not isinstance(before, DateType):
        return value
    match after:
        case TimestampType():
            return value * SECONDS_PER_DAY * MICROS_PER_SECOND
        case TimestampNanoType():
            return value * SECONDS_PER_DAY * NANOS_PER_SECOND
    return value
