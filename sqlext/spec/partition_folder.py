"""Partition values in folder names `column=value`, as Hive and Spark write them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import unquote
from uuid import UUID

from sqlext.spec.iso_date_time import MICROS_PER_SECOND, parse_date, parse_timestamp, parse_timestamptz
from sqlext.spec.single_value import encode, scaled, unscaled
from sqlext.spec.types import (
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
    Type,
    UuidType,
)

_NULL = "__HIVE_DEFAULT_PARTITION__"
_BOOLEANS = {"true": True, "false": False}


def folder_values(relative_path: str) -> Mapping[str, str | None]:
    """The text of each partition value in a file's path, by column; None for null. Other folders are ignored."""
    values: dict[str, str | None] = {}
    for folder in relative_path.split("/")[:-1]:
        column, separator, text = folder.partition("=")
        if separator and column:
            values[unquote(column)] = None if text == _NULL else unquote(text)
    return values


def is_null(text: str) -> bool:
    """Whether a folder's name says null, as Hive writes it."""
    return text == _NULL


def stored_value(type_: Type, text: str | None) -> Any:
    """The stored value that `text` denotes in a folder name. Raises ValueError if it is not a value of `type_`."""
    if text is None or text == _NULL:
        return None
    value = _parsed(type_, text)
    encode(type_, value)
    return value


def _parsed(type_: Type, text: str) -> Any:
    match type_:
        case StringType():
            return text
        case IntegerType() | LongType():
            return int(text)
        case BooleanType():
            if text.lower() not in _BOOLEANS:
                raise ValueError(f"{text!r} is neither true nor false")
            return _BOOLEANS[text.lower()]
        case FloatType() | DoubleType():
            return float(text)
        case DecimalType(scale=scale):
            try:
                return scaled(unscaled(Decimal(text), scale), scale)
            except InvalidOperation:
                raise ValueError(f"{text!r} is no number") from None
        case DateType():
            return parse_date(text)
        case TimestampType():
            return parse_timestamp(text.replace(" ", "T", 1), MICROS_PER_SECOND)
        case TimestamptzType():
            return parse_timestamptz(text.replace(" ", "T", 1), MICROS_PER_SECOND)
        case UuidType():
            return UUID(text)
    raise ValueError(f"a value of type {type_} is not read from a folder's name")
