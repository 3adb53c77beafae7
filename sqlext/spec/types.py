"""Types of columns and nested values (spec: Schemas and Data Types)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, Union


@dataclass(frozen=True, slots=True)
class BooleanType:
    def __str__(self) -> str:
        return "boolean"


@dataclass(frozen=True, slots=True)
class IntegerType:
    """32-bit signed integer."""

    def __str__(self) -> str:
        return "int"


@dataclass(frozen=True, slots=True)
class LongType:
    """64-bit signed integer."""

    def __str__(self) -> str:
        return "long"


@dataclass(frozen=True, slots=True)
class FloatType:
    def __str__(self) -> str:
        return "float"


@dataclass(frozen=True, slots=True)
class DoubleType:
    def __str__(self) -> str:
        return "double"


@dataclass(frozen=True, slots=True)
class DecimalType:
    """Fixed-point number of `precision` digits (at most 38), `scale` of them after the point."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class DateType:
    """Days since 1970-01-01."""

    def __str__(self) -> str:
        return "date"


@dataclass(frozen=True, slots=True)
class TimeType:
    """Microseconds since midnight."""

    def __str__(self) -> str:
        return "time"


@dataclass(frozen=True, slots=True)
class TimestampType:
    """Microseconds since 1970-01-01T00:00:00, without a zone."""

    def __str__(self) -> str:
        return "timestamp"


@dataclass(frozen=True, slots=True)
class TimestamptzType:
    """Microseconds since 1970-01-01T00:00:00Z: an instant."""

    def __str__(self) -> str:
        return "timestamptz"


@dataclass(frozen=True, slots=True)
class TimestampNanoType:
    """Nanoseconds since 1970-01-01T00:00:00, without a zone (format version 3)."""

    def __str__(self) -> str:
        return "timestamp_ns"


@dataclass(frozen=True, slots=True)
class TimestamptzNanoType:
    """Nanoseconds since 1970-01-01T00:00:00Z (format version 3)."""

    def __str__(self) -> str:
        return "timestamptz_ns"


@dataclass(frozen=True, slots=True)
class StringType:
    def __str__(self) -> str:
        return "string"


@dataclass(frozen=True, slots=True)
class UuidType:
    def __str__(self) -> str:
        return "uuid"


@dataclass(frozen=True, slots=True)
class FixedType:
    """Exactly `length` bytes."""

    length: int

    def __str__(self) -> str:
        return f"fixed[{self.length}]"


@dataclass(frozen=True, slots=True)
class BinaryType:
    def __str__(self) -> str:
        return "binary"


@dataclass(frozen=True, slots=True)
class UnknownType:
    """A column that holds only nulls (format version 3)."""

    def __str__(self) -> str:
        return "unknown"


@dataclass(frozen=True, slots=True)
class VariantType:
    """Semi-structured value (format version 3)."""

    def __str__(self) -> str:
        return "variant"


@dataclass(frozen=True, slots=True)
class GeospatialType:
    """`geometry` or `geography` with its parameters (format version 3), as the metadata has it."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class NestedField:
    """A column, or a field of a struct. `initial_default` and `write_default` are stored values of `type`."""

    id: int
    name: str
    type: Type
    required: bool = False
    doc: str | None = None
    initial_default: Any = None
    write_default: Any = None

    def __str__(self) -> str:
        return f"{self.id}: {self.name}: {'required' if self.required else 'optional'} {self.type}"


@dataclass(frozen=True, slots=True)
class StructType:
    fields: tuple[NestedField, ...]

    def __str__(self) -> str:
        return f"struct<{', '.join(map(str, self.fields))}>"


@dataclass(frozen=True, slots=True)
class ListType:
    element_id: int
    element: Type
    element_required: bool

    def __str__(self) -> str:
        return f"list<{self.element}>"


@dataclass(frozen=True, slots=True)
class MapType:
    """A map; its keys are always required."""

    key_id: int
    key: Type
    value_id: int
    value: Type
    value_required: bool

    def __str__(self) -> str:
        return f"map<{self.key}, {self.value}>"


PrimitiveType: TypeAlias = Union[  # noqa: UP007 - the alias is used in isinstance-free annotations only
    BooleanType,
    IntegerType,
    LongType,
    FloatType,
    DoubleType,
    DecimalType,
    DateType,
    TimeType,
    TimestampType,
    TimestamptzType,
    TimestampNanoType,
    TimestamptzNanoType,
    StringType,
    UuidType,
    FixedType,
    BinaryType,
    UnknownType,
    VariantType,
    GeospatialType,
]
Type: TypeAlias = Union[PrimitiveType, StructType, ListType, MapType]  # noqa: UP007


def is_primitive(type: Type) -> bool:
    """Whether the type has no nested fields."""
    return not isinstance(type, StructType | ListType | MapType)


def has_equality(type: Type) -> bool:
    """Whether Spark compares values of the type."""
    match type:
        case StructType(fields=fields):
            return all(has_equality(field.type) for field in fields)
        case ListType(element=element):
            return has_equality(element)
    return not isinstance(type, MapType | VariantType | UnknownType)
