"""The options of the aggregate functions that merge nested rows and maps, checked against the column's type."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sqlext.spec.field_path import listed_paths
from sqlext.spec.merge_engine import NestedRows, NullKeys
from sqlext.spec.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    Type,
    UuidType,
    has_equality,
)

NESTED_KEY, NULL_STRATEGY, NESTED_SEQUENCE, COUNT_LIMIT, TS_FIELD = (
    ".nested-key",
    ".nested-key-null-strategy",
    ".nested-sequence-field",
    ".count-limit",
    ".ts-field",
)
NUMBERS = (IntegerType, LongType, FloatType, DoubleType, DecimalType)
ORDERED = (*NUMBERS, StringType, DateType, TimestampType, TimestamptzType)


def nested_rows(function: str, type: Type, said: Mapping[str, str], refused: Callable[[str], Exception]) -> NestedRows:
    """How `function` merges the elements of an array of the `type`; `said` has the options by their suffix. Raises what
    `refused` makes of a reason."""
    if not isinstance(type, ListType) or not isinstance(type.element, StructType):
        raise refused(f"it takes an array of structs, and not {type}")
    element = type.element
    key = tuple(_fields(element, said.get(NESTED_KEY, ""), NESTED_KEY, refused))
    sequence = tuple(_fields(element, said.get(NESTED_SEQUENCE, ""), NESTED_SEQUENCE, refused))
    if not key:
        if function == "nested_partial_update":
            raise refused(f"it needs {NESTED_KEY[1:]}, the fields that tell its elements apart")
        for option in (NULL_STRATEGY, NESTED_SEQUENCE):
            if option in said:
                raise refused(f"{option[1:]} needs {NESTED_KEY[1:]}")
        if not has_equality(element):
            raise refused(f"its elements cannot be compared: {NESTED_KEY[1:]} must say by which fields")
    for name in key:
        if not has_equality(_type_of(element, name)) or _has_uuids(_type_of(element, name)):
            raise refused(f"the field {name} of {NESTED_KEY[1:]} cannot be compared")
    for name in sequence:
        if not isinstance(_type_of(element, name), ORDERED):
            raise refused(f"the field {name} of {NESTED_SEQUENCE[1:]} has no order")
    return NestedRows(key, sequence, _null_keys(said, refused), _limit(said, refused))


def require_plain_keys(type: Type, refused: Callable[[str], Exception]) -> None:
    """Raises what `refused` makes of a reason if keys of the map are given in other texts than those that it stores."""
    if isinstance(type, MapType) and _has_uuids(type.key):
        raise refused("its keys have UUIDs, which have several texts")


def time_field(type: Type, said: Mapping[str, str], refused: Callable[[str], Exception]) -> str:
    """The field of a map's values that orders them, by default the last one."""
    if not isinstance(type, MapType) or not isinstance(type.value, StructType) or len(type.value.fields) < 2:
        raise refused(f"it takes a map to structs of two fields or more, and not {type}")
    name = next(iter(_fields(type.value, said.get(TS_FIELD, ""), TS_FIELD, refused)), type.value.fields[-1].name)
    if not isinstance(_type_of(type.value, name), ORDERED):
        raise refused(f"the field {name}, which orders the values of a key, has no order")
    return name


def _has_uuids(type: Type) -> bool:
    match type:
        case StructType(fields=fields):
            return any(_has_uuids(field.type) for field in fields)
        case ListType(element=element):
            return _has_uuids(element)
    return isinstance(type, UuidType)


def _fields(struct: StructType, text: str, option: str, refused: Callable[[str], Exception]) -> Iterator[str]:
    paths = listed_paths(text) if text.strip() else ()
    if paths is None:
        raise refused(f"{option[1:]} must be fields of the structs, separated by commas")
    # A field whose name has a dot may stand without backticks, as structs inside are not looked into.
    for name in map(".".join, paths):
        found = next((field.name for field in struct.fields if field.name.lower() == name.lower()), None)
        if found is None:
            raise refused(f"{option[1:]} names {name}, which is no field of the structs")
        yield found


def _type_of(struct: StructType, name: str) -> Type:
    return next(field.type for field in struct.fields if field.name == name)


def _null_keys(said: Mapping[str, str], refused: Callable[[str], Exception]) -> NullKeys:
    match said.get(NULL_STRATEGY, "merge").strip().lower():
        case "merge":
            return "merge"
        case "ignore":
            return "ignore"
        case "error":
            return "error"
    raise refused(f"{NULL_STRATEGY[1:]} must be merge, ignore or error")


def _limit(said: Mapping[str, str], refused: Callable[[str], Exception]) -> int | None:
    text = said.get(COUNT_LIMIT)
    if text is None:
        return None
    if not text.strip().isascii() or not text.strip().isdigit() or not 0 < int(text) < 2**31:
        raise refused(f"{COUNT_LIMIT[1:]} must be a number of elements from 1 to 2147483647")
    return int(text)
