"""Stored values, such as column defaults, as SQL literals of Spark."""

from __future__ import annotations

import math
from typing import Any

from sqlext.errors import UnsupportedError
from sqlext.spec.iso_date_time import MICROS_PER_SECOND, format_date, format_timestamp
from sqlext.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    Type,
    UuidType,
)
from sqlext.sql.syntax.type_text import spark_type_text
from sqlext.sql.tokens.quoting import quote_string


def literal_text(type: Type, value: Any) -> str:
    """An expression of the type for a stored value, NULL for None. Raises UnsupportedError for nested types."""
    if value is None:
        return "NULL"
    match type:
        case BooleanType():
            return "true" if value else "false"
        case IntegerType() | LongType() | FloatType() | DoubleType() | DecimalType():
            return f"CAST('{_number_text(type, value)}' AS {spark_type_text(type)})"
        case DateType():
            return f"DATE '{format_date(value)}'"
        case TimestampType():
            return f"TIMESTAMP_NTZ '{_moment(value)}'"
        case TimestamptzType():
            return f"TIMESTAMP_LTZ '{_moment(value)}Z'"
        case StringType() | UuidType():
            return quote_string(str(value))
        case BinaryType() | FixedType():
            return f"X'{value.hex()}'"
    raise UnsupportedError("UNSUPPORTED_TYPE", type=type, reason="columns of this type have no default but null")


def shown_default_text(field: NestedField) -> str:
    """The column's write default as a person would write it: numbers without the cast that makes them exact."""
    is_number = isinstance(field.type, IntegerType | LongType | FloatType | DoubleType | DecimalType)
    if is_number and field.write_default is not None:
        return _number_text(field.type, field.write_default)
    return write_default_text(field)


def write_default_text(field: NestedField) -> str:
    """The column's write default as an expression; NULL without one. Raises as `literal_text`."""
    return literal_text(field.type, field.write_default)


def _moment(micros: int) -> str:
    return format_timestamp(micros, MICROS_PER_SECOND).replace("T", " ")


def _number_text(type: Type, value: Any) -> str:
    match type:
        case FloatType() | DoubleType():
            return _float_text(value)
        case DecimalType():
            return f"{value:f}"
    return str(value)


def _float_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)
