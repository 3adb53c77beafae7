"""Keys that a program gives, as values of a table's key columns, and as a condition of SQL on these.

A value has to be of its column's type: nothing is rounded, cut off or read from a text, so that a key that no row can
have is told and not passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from operator import index
from typing import Any, TypeAlias
from uuid import UUID

from sqlext.catalog.identifier import in_backticks
from sqlext.errors import DataError, UnsupportedError

Key: TypeAlias = tuple[Any, ...]
"""A value for each key column: bool, int, Decimal, str, UUID, bytes, date, or datetime, in UTC for a TIMESTAMP."""

_DECIMAL = re.compile(r"DECIMAL\((\d+), ?(\d+)\)")
_FIXED = re.compile(r"BINARY\((\d+)\)")
_BITS = {"INT": 32, "BIGINT": 64}
# What Spark reads as it stands between quotes, whatever its settings.
_PLAIN_TEXT = re.compile(r"[^'\\$\x00-\x1f]*")


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column of a primary key, by its path through structs; `type` is as CREATE TABLE spells it."""

    path: tuple[str, ...]
    type: str

    @property
    def name(self) -> str:
        return ".".join(self.path)

    @property
    def sql(self) -> str:
        return in_backticks(*self.path)


def distinct_keys(columns: Sequence[KeyColumn], keys: Iterable[Any], table: str) -> list[Key]:
    """The keys as tuples in the order of `columns`, each once.

    Raises UnsupportedError LOOKUP_WITHOUT_KEY if there are no columns, DataError LOOKUP_KEY_REFUSED for a key that has
    not the form or the types of them, and for one key in the place of a list.
    """
    if not columns:
        raise UnsupportedError("LOOKUP_WITHOUT_KEY", name=table)
    if isinstance(keys, str | bytes | bytearray | Mapping):
        # Its letters, bytes or names would be the keys.
        raise DataError("LOOKUP_KEY_REFUSED", key=repr(keys), name=table, reason="it is one key, and no list of keys")
    return list({_key(columns, one, table): None for one in keys})


def condition(columns: Sequence[KeyColumn], keys: Sequence[Key]) -> str:
    """The condition of SQL that rows with one of `keys` match. Each column has one of its own, which reads fewer files
    than one on all of them would."""
    if not keys:
        return "false"
    parts = [_one_of(column, [key[at] for key in keys]) for at, column in enumerate(columns)]
    if len(columns) > 1 and len(keys) > 1:
        listed = ", ".join(f"({', '.join(map(_text, columns, key))})" for key in keys)
        parts.append(f"({', '.join(column.sql for column in columns)}) IN ({listed})")
    return " AND ".join(parts)


def _one_of(column: KeyColumn, values: Iterable[Any]) -> str:
    texts = list(dict.fromkeys(_text(column, value) for value in values))
    return f"{column.sql} = {texts[0]}" if len(texts) == 1 else f"{column.sql} IN ({', '.join(texts)})"


def _key(columns: Sequence[KeyColumn], given: Any, table: str) -> Key:
    values = _values(columns, given)
    if values is None:
        named = ", ".join(column.name for column in columns)
        wanted = f"a value of {named}" if len(columns) == 1 else f"a tuple or mapping with a value for each of {named}"
        raise DataError("LOOKUP_KEY_REFUSED", key=repr(given), name=table, reason=f"it is not {wanted}")
    found = []
    for column, value in zip(columns, values, strict=True):
        try:
            found.append(_typed(column.type, value))
        except _NotOfType as reason:
            told = f"{value!r} is no value of {column.name}, which is {column.type}{reason}"
            raise DataError("LOOKUP_KEY_REFUSED", key=repr(given), name=table, reason=told) from None
    return tuple(found)


def _values(columns: Sequence[KeyColumn], given: Any) -> Sequence[Any] | None:
    """The values of the columns in a key, None if it has not one for each."""
    if isinstance(given, Mapping):
        by_name = {str(name).lower(): value for name, value in given.items()}
        names = [column.name.lower() for column in columns]
        if len(by_name) == len(given) and by_name.keys() == set(names):
            return [by_name[name] for name in names]
        exact = [column.name for column in columns]
        return [given[name] for name in exact] if given.keys() == set(exact) else None
    if isinstance(given, tuple):
        return given if len(given) == len(columns) else None
    return [given] if len(columns) == 1 else None


class _NotOfType(Exception):
    """Why a value is none of a type, with what separates it from the type's name."""


def _typed(type: str, value: Any) -> Any:
    if value is None:
        raise _NotOfType(" and holds no null")
    if type in _BITS:
        return _whole(value, _BITS[type])
    decimal = _DECIMAL.fullmatch(type)
    if decimal is not None:
        return _decimal(value, int(decimal[1]), int(decimal[2]))
    if type == "BOOLEAN" and isinstance(value, bool):
        return value
    if type == "UUID":
        return _uuid(value)
    if (type == "STRING" or type.startswith("VARCHAR")) and isinstance(value, str):
        return _characters(value)
    if type.startswith("BINARY") and isinstance(value, bytes | bytearray | memoryview):
        return _bytes(bytes(value), type)
    if type == "DATE" and isinstance(value, date) and not isinstance(value, datetime):
        return value
    if type.startswith("TIMESTAMP") and isinstance(value, datetime):
        return _moment(value, has_zone="NTZ" not in type)
    raise _NotOfType("")


def _whole(value: Any, bits: int) -> int:
    try:
        number = index(value)
    except TypeError:
        raise _NotOfType("") from None
    if isinstance(value, bool):
        raise _NotOfType("")
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise _NotOfType(f" and has {bits} bits")
    return number


def _decimal(value: Any, precision: int, scale: int) -> Decimal:
    if not isinstance(value, Decimal):
        value = Decimal(_whole(value, 128))
    if not value.is_finite():
        raise _NotOfType("")
    sign, digits, exponent = value.as_tuple()
    # Not `quantize`, which rounds, and to 28 digits.
    digits, exponent = "".join(map(str, digits)), exponent + scale
    if exponent < 0:
        digits, cut = digits[:exponent] or "0", digits[exponent:]
        if cut.strip("0"):
            raise _NotOfType("")
    else:
        digits += "0" * exponent
    digits = digits.lstrip("0") or "0"
    if len(digits) > precision:
        raise _NotOfType("")
    return Decimal((0 if digits == "0" else sign, tuple(map(int, digits)), -scale))


def _uuid(value: Any) -> UUID:
    if isinstance(value, UUID):
        return value
    try:
        return UUID(value)
    except (ValueError, TypeError, AttributeError):
        raise _NotOfType("") from None


def _characters(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _NotOfType(", and it is no Unicode text") from None
    return text


def _bytes(value: bytes, type: str) -> bytes:
    fixed = _FIXED.fullmatch(type)
    if fixed is not None and len(value) != int(fixed[1]):
        raise _NotOfType("")
    return value


def _moment(value: datetime, *, has_zone: bool) -> datetime:
    """A moment in UTC, or without a zone. A time without one is that of the process's zone, as `collect` gives it."""
    if not has_zone:
        if value.tzinfo is not None:
            raise _NotOfType(" and has no time zone")
        return value
    try:
        return value.astimezone(timezone.utc)
    except (OverflowError, ValueError, OSError):
        raise _NotOfType("") from None


def _text(column: KeyColumn, value: Any) -> str:
    """A value as an expression of SQL that is of the column's type in Spark."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return f"{value}L" if column.type == "BIGINT" else str(value)
        case Decimal():
            return f"CAST('{value:f}' AS {column.type})"
        case UUID():
            return f"'{value}'"
        case str():
            return f"'{value}'" if _PLAIN_TEXT.fullmatch(value) else f"CAST(X'{value.encode().hex()}' AS STRING)"
        case bytes():
            return f"X'{value.hex()}'"
        case datetime():
            told = value.replace(tzinfo=None).isoformat(" ", "microseconds")
            return f"TIMESTAMP_NTZ '{told}'" if value.tzinfo is None else f"TIMESTAMP_LTZ '{told}Z'"
    return f"DATE '{value.isoformat()}'"
