"""Single values as bytes (bounds) and as JSON (defaults) (spec: Appendix D, Single-value serialization).

Stored values in Python: bool, int, float, `decimal.Decimal`, str, `uuid.UUID`, bytes; dates in days, times and
timestamps in microseconds (`_ns` types: nanoseconds) since 1970-01-01 or midnight. Nested defaults: a list is a tuple,
a map a tuple of pairs, a struct a tuple in the order of its fields.
"""

from __future__ import annotations

import struct
from decimal import Context, Decimal
from typing import Any
from uuid import UUID

from sqlext.spec.iso_date_time import (
    MICROS_PER_SECOND,
    NANOS_PER_SECOND,
    SECONDS_PER_DAY,
    format_date,
    format_time,
    format_timestamp,
    parse_date,
    parse_time,
    parse_timestamp,
    parse_timestamptz,
)
from sqlext.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    Type,
    UuidType,
)

_INT = struct.Struct("<i")
_LONG = struct.Struct("<q")
_FLOAT = struct.Struct("<f")
_DOUBLE = struct.Struct("<d")
# The format allows 38 digits; the default context would round to 28.
_DECIMAL_CONTEXT = Context(prec=60)


def unscaled(value: Decimal, scale: int) -> int:
    """The integer `value * 10**scale`. Raises ValueError if digits would be lost."""
    scaled = value.scaleb(scale, _DECIMAL_CONTEXT)
    if scaled != scaled.to_integral_value():
        raise ValueError(f"{value} has more than {scale} digits behind the point")
    return int(scaled)


def scaled(unscaled_value: int, scale: int) -> Decimal:
    """The decimal `unscaled_value / 10**scale`, with exactly `scale` digits behind the point."""
    return Decimal(unscaled_value).scaleb(-scale, _DECIMAL_CONTEXT)


def minimal_bytes(value: int) -> bytes:
    """An integer as the shortest big-endian two's complement."""
    bits = value.bit_length() if value >= 0 else (value + 1).bit_length()
    return value.to_bytes(bits // 8 + 1, "big", signed=True)


def encode(type: Type, value: Any) -> bytes:
    """A stored value in binary form. Raises ValueError for a value not of `type`, or a type without binary form."""
    try:
        return _encode(type, value)
    except (struct.error, TypeError, AttributeError) as error:
        raise ValueError(f"{value!r} is no value of type {type}") from error


def _encode(type: Type, value: Any) -> bytes:
    match type:
        case IntegerType() | DateType():
            return _INT.pack(value)
        case (
            LongType() | TimeType() | TimestampType() | TimestamptzType() | TimestampNanoType() | TimestamptzNanoType()
        ):
            return _LONG.pack(value)
        case StringType():
            encoded: bytes = value.encode("utf-8")
            return encoded
        case DecimalType(scale=scale):
            return minimal_bytes(unscaled(value, scale))
        case DoubleType():
            return _DOUBLE.pack(value)
        case FloatType():
            return _FLOAT.pack(value)
        case BooleanType():
            return b"\x01" if value else b"\x00"
        case BinaryType() | FixedType():
            return bytes(value)
        case UuidType():
            uuid_bytes: bytes = value.bytes
            return uuid_bytes
    raise ValueError(f"type {type} has no binary single-value form")


def decode(type: Type, data: bytes) -> Any:
    """The stored value in `data`, also if it was written before a type promotion.

    Raises ValueError for bytes that are not a value of `type`, or a type without binary form.
    """
    try:
        return _decode(type, data)
    except struct.error as error:
        raise ValueError(f"{len(data)} bytes are no value of type {type}") from error


def _decode(type: Type, data: bytes) -> Any:
    match type:
        case IntegerType() | DateType():
            return _INT.unpack(data)[0]
        case LongType():
            return (_INT if len(data) == 4 else _LONG).unpack(data)[0]
        case TimestampType() if len(data) == 4:
            return _INT.unpack(data)[0] * SECONDS_PER_DAY * MICROS_PER_SECOND
        case TimestampNanoType() if len(data) == 4:
            return _INT.unpack(data)[0] * SECONDS_PER_DAY * NANOS_PER_SECOND
        case TimeType() | TimestampType() | TimestamptzType() | TimestampNanoType() | TimestamptzNanoType():
            return _LONG.unpack(data)[0]
        case StringType():
            return data.decode("utf-8")
        case DecimalType(scale=scale):
            return scaled(int.from_bytes(data, "big", signed=True), scale)
        case DoubleType():
            return (_FLOAT if len(data) == 4 else _DOUBLE).unpack(data)[0]
        case FloatType():
            return _FLOAT.unpack(data)[0]
        case BooleanType():
            if len(data) != 1:
                raise ValueError(f"{len(data)} bytes are no value of type boolean")
            return data != b"\x00"
        case BinaryType() | FixedType():
            return bytes(data)
        case UuidType():
            return UUID(bytes=bytes(data))
    raise ValueError(f"type {type} has no binary single-value form")


def to_json(type: Type, value: Any) -> Any:
    """A stored value in JSON form; None for None. Raises ValueError for a type without JSON form."""
    if value is None:
        return None
    match type:
        case BooleanType() | IntegerType() | LongType() | FloatType() | DoubleType() | StringType():
            return value
        case DecimalType(scale=scale):
            return f"{scaled(unscaled(value, scale), scale):f}"
        case DateType():
            return format_date(value)
        case TimeType():
            return format_time(value, MICROS_PER_SECOND)
        case TimestampType():
            return format_timestamp(value, MICROS_PER_SECOND)
        case TimestamptzType():
            return format_timestamp(value, MICROS_PER_SECOND) + "+00:00"
        case TimestampNanoType():
            return format_timestamp(value, NANOS_PER_SECOND)
        case TimestamptzNanoType():
            return format_timestamp(value, NANOS_PER_SECOND) + "+00:00"
        case UuidType():
            return str(value)
        case FixedType() | BinaryType():
            return value.hex().upper()
        case StructType(fields=fields):
            return {str(field.id): to_json(field.type, part) for field, part in zip(fields, value, strict=True)}
        case ListType(element=element):
            return [to_json(element, item) for item in value]
        case MapType():
            return {
                "keys": [to_json(type.key, key) for key, _ in value],
                "values": [to_json(type.value, item) for _, item in value],
            }
    raise ValueError(f"type {type} has no JSON single-value form")


def from_json(type: Type, value: Any) -> Any:
    """The stored value of a JSON form; None for None. Raises ValueError for JSON that is not a value of `type`."""
    if value is None:
        return None
    try:
        return _from_json(type, value)
    except (TypeError, AttributeError, KeyError, ArithmeticError) as error:
        raise ValueError(f"{value!r} is no JSON value of type {type}") from error


def _from_json(type: Type, value: Any) -> Any:
    match type:
        case BooleanType() | StringType() | IntegerType() | LongType():
            return _typed(type, value)
        case FloatType() | DoubleType():
            return float(value)
        case DecimalType(scale=scale):
            return scaled(unscaled(Decimal(str(value)), scale), scale)
        case DateType():
            return parse_date(value)
        case TimeType():
            return parse_time(value, MICROS_PER_SECOND)
        case TimestampType():
            return parse_timestamp(value, MICROS_PER_SECOND)
        case TimestamptzType():
            return parse_timestamptz(value, MICROS_PER_SECOND)
        case TimestampNanoType():
            return parse_timestamp(value, NANOS_PER_SECOND)
        case TimestamptzNanoType():
            return parse_timestamptz(value, NANOS_PER_SECOND)
        case UuidType():
            return UUID(value)
        case FixedType() | BinaryType():
            return bytes.fromhex(value)
        case StructType(fields=fields):
            return tuple(from_json(field.type, value.get(str(field.id))) for field in fields)
        case ListType(element=element):
            return tuple(from_json(element, item) for item in value)
        case MapType():
            keys = (from_json(type.key, key) for key in value["keys"])
            return tuple(zip(keys, (from_json(type.value, item) for item in value["values"]), strict=True))
    raise ValueError(f"type {type} has no JSON single-value form")


def _typed(type: Type, value: Any) -> Any:
    expected = {BooleanType: bool, StringType: str}.get(type.__class__, int)
    if value.__class__ is not expected:
        raise ValueError(f"{value!r} is no JSON value of type {type}")
    return value


def are_bounds_in_any_order(lower: UUID, upper: UUID) -> bool:
    """Whether uuids between the bounds in byte order are between them in Java's order, too.

    Parquet and this code order uuids by bytes. Iceberg's Java library compares signed 64-bit halves (`UUID.compareTo`),
    and skips files with matching rows if bounds differ in the sign of a half.
    """
    differing = lower.int ^ upper.int
    return not (differing >> 127 & 1 or differing >> 63 & 1)
