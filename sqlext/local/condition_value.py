"""Values in conditions on rows: columns, constants and what is computed of them, in Spark's types."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Any, TypeAlias
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

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

Columns: TypeAlias = Mapping[int, pa.Array]
"""Arrays of a batch's top-level columns, by field id."""

WHOLE = (IntegerType, LongType)
INT_RANGE, LONG_RANGE = range(-(2**31), 2**31), range(-(2**63), 2**63)
FLOATS = (FloatType, DoubleType)
_COMPARABLE = (
    *WHOLE,
    *FLOATS,
    BooleanType,
    DateType,
    DecimalType,
    StringType,
    TimestampType,
    TimestamptzType,
    UuidType,
    BinaryType,
    FixedType,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d{1,6})?) ?(Z|[+-]\d\d:\d\d)?", re.ASCII)
NO_ZONE = "it depends on the time zone of a session; write the zone, such as '2026-01-31 12:00:00Z'"


class NotHere(Exception):
    """Why a part of a condition can only be evaluated by Spark."""


@dataclass(frozen=True, slots=True)
class RowValue:
    """A value that differs from row to row. `field` is the column, possibly in a struct, that it is, if it is one."""

    type: Type
    of: Callable[[Columns], pa.Array]
    field: NestedField | None = None
    is_top_level: bool = False


@dataclass(frozen=True, slots=True)
class Moment:
    """A constant of TIMESTAMP or TIMESTAMP_NTZ, in microseconds since 1970."""

    micros: int
    with_zone: bool


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant: None, bool, int, Decimal, float, str, bytes, date or `Moment`."""

    value: Any


Operand: TypeAlias = "RowValue | Constant"


def column_value(path: tuple[NestedField, ...]) -> RowValue:
    """The column or struct field of a path of fields. Raises NotHere for a type that is not compared here."""
    field = path[-1]
    if not isinstance(field.type, _COMPARABLE):
        raise NotHere(f"{field.name} is of type {field.type}")
    top, names = path[0].id, [one.name for one in path[1:]]

    def of(columns: Columns) -> pa.Array:
        column = columns[top]
        for name in names:
            column = pc.struct_field(column, [name])
        return column

    return RowValue(field.type, of, field, len(path) == 1)


def constant_of(constant: Constant, type: Type) -> Any:
    """The stored value (spec: single values) of a constant that is compared with a value of `type`, other than a
    number. Raises NotHere for another kind of constant."""
    value = constant.value
    match type:
        case BooleanType() if isinstance(value, bool):
            return value
        case StringType() if isinstance(value, str):
            return value
        case BinaryType() | FixedType() if isinstance(value, bytes):
            return value
        case UuidType() if isinstance(value, str):
            return _uuid(value)
        case DateType() if isinstance(value, date | str):
            return (value if isinstance(value, date) else parsed_date(value)).toordinal() - _EPOCH.toordinal()
        case TimestampType() | TimestamptzType() if isinstance(value, Moment | str):
            moment = value if isinstance(value, Moment) else moment_of(value, ltz=isinstance(type, TimestamptzType))
            if moment.with_zone == isinstance(type, TimestamptzType):
                return moment.micros
            raise NotHere("a comparison of a TIMESTAMP with a TIMESTAMP_NTZ depends on the time zone of a session")
    raise NotHere(f"Spark casts one side of a comparison of {type} with {value!r}")


def _uuid(text: str) -> UUID:
    try:
        uuid = UUID(text)
    except ValueError:
        uuid = None
    if uuid is None or str(uuid) != text:
        raise NotHere(f"{text!r} is no UUID in its canonical form, and Spark compares UUIDs as texts")
    return uuid


def parsed_date(text: str) -> date:
    """The date of `yyyy-MM-dd`. Raises NotHere for another text."""
    try:
        if _DATE.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise NotHere(f"{text!r} is no date of the form yyyy-MM-dd")


def moment_of(text: str, *, ltz: bool) -> Moment:
    """The moment of `yyyy-MM-dd HH:mm:ss[.ffffff][zone]`: with `ltz` a TIMESTAMP, which needs its zone here, otherwise
    a TIMESTAMP_NTZ, which has none. Raises NotHere."""
    found = _MOMENT.fullmatch(text)
    if found is None and _DATE.fullmatch(text):
        found = _MOMENT.fullmatch(f"{text} 00:00:00")
    if found is None:
        raise NotHere(f"{text!r} is not of the form yyyy-MM-dd HH:mm:ss")
    day, clock, zone = found.groups()
    if ltz != (zone is not None):
        raise NotHere(NO_ZONE if ltz else f"{text!r} has a time zone, and the column none")
    whole, _, fraction = clock.partition(".")
    offset = "+00:00" if zone in (None, "Z") else zone
    try:
        at = datetime.fromisoformat(f"{day} {whole}.{fraction.ljust(6, '0')}{offset}")
    except ValueError:
        raise NotHere(f"{text!r} is no time") from None
    return Moment((at - _EPOCH) // timedelta(microseconds=1), ltz)


def as_numbers(values: pa.Array) -> pa.Array:
    """Numbers as 64-bit floats, as Spark casts integers and floats."""
    return values.cast(pa.float64(), safe=False)


def as_decimals(values: pa.Array, scale: int) -> pa.Array:
    """Integers or decimals as decimals of a scale that is not below their own."""
    if pa.types.is_integer(values.type):
        values = values.cast(pa.decimal128(19, 0))
    return values.cast(pa.decimal256(76, scale))
