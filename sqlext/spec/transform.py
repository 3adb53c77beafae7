"""Partition transforms (spec: Partition Transforms; Appendix B, 32-bit Hash Requirements)."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import mmh3

from sqlext.spec.iso_date_time import (
    MICROS_PER_SECOND,
    NANOS_PER_SECOND,
    SECONDS_PER_DAY,
    civil_date,
    days_from_civil,
    format_date,
    format_year,
)
from sqlext.spec.single_value import minimal_bytes, scaled, to_json, unscaled
from sqlext.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    FixedType,
    GeospatialType,
    IntegerType,
    LongType,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    Type,
    UnknownType,
    UuidType,
    VariantType,
    is_primitive,
)

_MICRO_TIMESTAMPS = (TimestampType, TimestamptzType)
_NANO_TIMESTAMPS = (TimestampNanoType, TimestamptzNanoType)
_TIMESTAMPS = _MICRO_TIMESTAMPS + _NANO_TIMESTAMPS
_HASHED_AS_LONG = (IntegerType, LongType, DateType, TimeType, *_TIMESTAMPS)
_BUCKETED = (*_HASHED_AS_LONG, DecimalType, StringType, UuidType, FixedType, BinaryType)
_TRUNCATED = (IntegerType, LongType, DecimalType, StringType, BinaryType)


class Transform(Protocol):
    """A function from the stored value of a column to the stored value of a partition field; None for None.

    `str(transform)` is its form in table metadata. `preserves_order` means that a <= b implies t(a) <= t(b).
    """

    @property
    def preserves_order(self) -> bool: ...

    def can_transform(self, source_type: Type) -> bool:
        """Whether the format defines the transform for values of that type."""

    def result_type(self, source_type: Type) -> Type:
        """The type of the transformed values."""

    def apply(self, source_type: Type, value: Any) -> Any:
        """The partition value of a stored value. Raises ValueError for a type that the transform does not take."""

    def human(self, source_type: Type, value: Any) -> str:
        """A partition value as text in a partition path; `null` for None."""


@dataclass(frozen=True, slots=True)
class IdentityTransform:
    preserves_order: ClassVar[bool] = True

    def __str__(self) -> str:
        return "identity"

    def can_transform(self, source_type: Type) -> bool:
        return is_primitive(source_type) and not isinstance(source_type, VariantType | GeospatialType | UnknownType)

    def result_type(self, source_type: Type) -> Type:
        return source_type

    def apply(self, source_type: Type, value: Any) -> Any:
        return value

    def human(self, source_type: Type, value: Any) -> str:
        return _human(source_type, value)


@dataclass(frozen=True, slots=True)
class BucketTransform:
    """The hash modulo `n`."""

    n: int
    preserves_order: ClassVar[bool] = False

    def __str__(self) -> str:
        return f"bucket[{self.n}]"

    def can_transform(self, source_type: Type) -> bool:
        return isinstance(source_type, _BUCKETED)

    def result_type(self, source_type: Type) -> Type:
        return IntegerType()

    def apply(self, source_type: Type, value: Any) -> int | None:
        return None if value is None else (bucket_hash(source_type, value) & 0x7FFFFFFF) % self.n

    def human(self, source_type: Type, value: Any) -> str:
        return _human(IntegerType(), value)


@dataclass(frozen=True, slots=True)
class TruncateTransform:
    """Numbers rounded down to a multiple of `width` (of the unscaled value); the first `width` code points or bytes."""

    width: int
    preserves_order: ClassVar[bool] = True

    def __str__(self) -> str:
        return f"truncate[{self.width}]"

    def can_transform(self, source_type: Type) -> bool:
        return isinstance(source_type, _TRUNCATED)

    def result_type(self, source_type: Type) -> Type:
        return source_type

    def apply(self, source_type: Type, value: Any) -> Any:
        if value is None:
            return None
        match source_type:
            case IntegerType():
                return _wrap(value - value % self.width, 32)
            case LongType():
                return _wrap(value - value % self.width, 64)
            case DecimalType(scale=scale):
                whole = unscaled(value, scale)
                return scaled(whole - whole % self.width, scale)
            case StringType() | BinaryType():
                return value[: self.width]
        raise _undefined(self, source_type)

    def human(self, source_type: Type, value: Any) -> str:
        return _human(source_type, value)


@dataclass(frozen=True, slots=True)
class YearTransform:
    """Years since 1970."""

    preserves_order: ClassVar[bool] = True

    def __str__(self) -> str:
        return "year"

    def can_transform(self, source_type: Type) -> bool:
        return isinstance(source_type, (DateType, *_TIMESTAMPS))

    def result_type(self, source_type: Type) -> Type:
        return IntegerType()

    def apply(self, source_type: Type, value: Any) -> int | None:
        return None if value is None else civil_date(_days(self, source_type, value))[0] - 1970

    def human(self, source_type: Type, value: Any) -> str:
        return "null" if value is None else format_year(1970 + value)


@dataclass(frozen=True, slots=True)
class MonthTransform:
    """Months since 1970-01."""

    preserves_order: ClassVar[bool] = True

    def __str__(self) -> str:
        return "month"

    def can_transform(self, source_type: Type) -> bool:
        return isinstance(source_type, (DateType, *_TIMESTAMPS))

    def result_type(self, source_type: Type) -> Type:
        return IntegerType()

    def apply(self, source_type: Type, value: Any) -> int | None:
        if value is None:
            return None
        year, month, _ = civil_date(_days(self, source_type, value))
        return (year - 1970) * 12 + month - 1

    def human(self, source_type: Type, value: Any) -> str:
        return "null" if value is None else f"{format_year(1970 + value // 12)}-{value % 12 + 1:02d}"


@dataclass(frozen=True, slots=True)
class DayTransform:
    """Days since 1970-01-01, as a date."""

    preserves_order: ClassVar[bool] = True

    def __str__(self) -> str:
        return "day"

    def can_transform(self, source_type: Type) -> bool:
        return isinstance(source_type, (DateType, *_TIMESTAMPS))

    def result_type(self, source_type: Type) -> Type:
        return DateType()

    def apply(self, source_type: Type, value: Any) -> int | None:
        return None if value is None else _days(self, source_type, value)

    def human(self, source_type: Type, value: Any) -> str:
        return _human(DateType(), value)


@dataclass(frozen=True, slots=True)
class HourTransform:
    """Hours since 1970-01-01T00."""

    preserves_order: ClassVar[bool] = True

    def __str__(self) -> str:
        return "hour"

    def can_transform(self, source_type: Type) -> bool:
        return isinstance(source_type, _TIMESTAMPS)

    def result_type(self, source_type: Type) -> Type:
        return IntegerType()

    def apply(self, source_type: Type, value: Any) -> int | None:
        if value is None:
            return None
        if isinstance(source_type, DateType):
            raise _undefined(self, source_type)
        return int(value // (3600 * _units_per_second(self, source_type)))

    def human(self, source_type: Type, value: Any) -> str:
        return "null" if value is None else f"{format_date(value // 24)}-{value % 24:02d}"


@dataclass(frozen=True, slots=True)
class VoidTransform:
    """Null for every value; replaces the transform of a dropped partition field in format version 1."""

    preserves_order: ClassVar[bool] = True

    def __str__(self) -> str:
        return "void"

    def can_transform(self, source_type: Type) -> bool:
        return True

    def result_type(self, source_type: Type) -> Type:
        return source_type

    def apply(self, source_type: Type, value: Any) -> None:
        return None

    def human(self, source_type: Type, value: Any) -> str:
        return "null"


@dataclass(frozen=True, slots=True)
class UnknownTransform:
    """A transform unknown to sqlext: a table with it can be read, not written."""

    text: str
    preserves_order: ClassVar[bool] = False

    def __str__(self) -> str:
        return self.text

    def can_transform(self, source_type: Type) -> bool:
        return False

    def result_type(self, source_type: Type) -> Type:
        return StringType()

    def apply(self, source_type: Type, value: Any) -> Any:
        raise _undefined(self, source_type)

    def human(self, source_type: Type, value: Any) -> str:
        return "null" if value is None else str(value)


_PLAIN: dict[str, Transform] = {
    str(plain): plain
    for plain in (
        IdentityTransform(),
        YearTransform(),
        MonthTransform(),
        DayTransform(),
        HourTransform(),
        VoidTransform(),
    )
}
_OF_SQL: dict[str, Transform] = {
    "identity": IdentityTransform(),
    "bucket": BucketTransform(1),
    "truncate": TruncateTransform(1),
    "years": YearTransform(),
    "months": MonthTransform(),
    "days": DayTransform(),
    "hours": HourTransform(),
}
_PARAMETRISED = re.compile(r"(bucket|truncate)\[(\d+)\]")


def parse_transform(text: str) -> Transform:
    """The transform of a text in table metadata; `UnknownTransform` for an unknown one."""
    plain = _PLAIN.get(text.lower())
    if plain is not None:
        return plain
    match = _PARAMETRISED.fullmatch(text.lower())
    if match is None or int(match[2]) == 0:
        return UnknownTransform(text)
    return BucketTransform(int(match[2])) if match[1] == "bucket" else TruncateTransform(int(match[2]))


def other_transforms(source_type: Type) -> str:
    """What to use instead of a transform that a column of this type does not have, by the names of SQL."""
    names = [name for name, transform in _OF_SQL.items() if transform.can_transform(source_type)]
    return f"Use {', '.join(names)}, or another column" if names else "Use another column"


def bucket_hash(source_type: Type, value: Any) -> int:
    """The signed 32-bit Murmur3 hash of a stored value. Raises ValueError for a type without a hash."""
    match source_type:
        case IntegerType() | LongType() | DateType() | TimeType() | TimestampType() | TimestamptzType():
            data = int(value).to_bytes(8, "little", signed=True)
        case TimestampNanoType() | TimestamptzNanoType():
            data = (value // 1000).to_bytes(8, "little", signed=True)
        case StringType():
            data = value.encode("utf-8")
        case DecimalType(scale=scale):
            data = minimal_bytes(unscaled(value, scale))
        case UuidType():
            data = value.bytes
        case BinaryType() | FixedType():
            data = value
        case _:
            raise ValueError(f"values of type {source_type} are not hashed")
    return int(mmh3.hash(data))


def least_source_value(transform: Transform, source_type: Type, cell: int) -> int:
    """The least stored value that a year, month, day or hour transform maps to the partition value `cell`.

    Raises ValueError for another transform or source type.
    """
    if isinstance(transform, HourTransform):
        return cell * 3600 * _units_per_second(transform, source_type)
    match transform:
        case YearTransform():
            day = days_from_civil(1970 + cell, 1, 1)
        case MonthTransform():
            day = days_from_civil(1970 + cell // 12, cell % 12 + 1, 1)
        case DayTransform():
            day = cell
        case _:
            raise _undefined(transform, source_type)
    if isinstance(source_type, DateType):
        return day
    return day * SECONDS_PER_DAY * _units_per_second(transform, source_type)


def _units_per_second(transform: Transform, source_type: Type) -> int:
    if isinstance(source_type, _MICRO_TIMESTAMPS):
        return MICROS_PER_SECOND
    if isinstance(source_type, _NANO_TIMESTAMPS):
        return NANOS_PER_SECOND
    raise _undefined(transform, source_type)


def _days(transform: Transform, source_type: Type, value: int) -> int:
    if isinstance(source_type, DateType):
        return value
    return value // (SECONDS_PER_DAY * _units_per_second(transform, source_type))


def _wrap(value: int, bits: int) -> int:
    # Rounding down a value near the least one overflows; Iceberg's Java arithmetic wraps around.
    half = 1 << (bits - 1)
    return (value + half) % (half << 1) - half


def _undefined(transform: Transform, source_type: Type) -> ValueError:
    return ValueError(f"transform {transform} is not defined for type {source_type}")


def _human(type: Type, value: Any) -> str:
    if value is None:
        return "null"
    match type:
        case BooleanType():
            return "true" if value else "false"
        case FixedType() | BinaryType():
            return base64.b64encode(value).decode("ascii")
        case UnknownType():
            return str(value)
    return str(to_json(type, value))
