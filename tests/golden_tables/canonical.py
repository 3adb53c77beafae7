"""Rows as JSON values that any engine can produce: the encoding of the golden tables' `expected.json`.

Null is null; boolean, integers and strings stand as they are; float and double are the `repr` string (`1.5`, `nan`,
`-inf`); a decimal is a string with the column's scale; a date `YYYY-MM-DD`; a timestamp ISO with microseconds, with `Z`
if it is an instant; binary `hex:..`; a struct `{"f": v}`; an array `[..]`; a map `{"__map__": [[k, v], ..]}` sorted by
the key's JSON.
"""

from __future__ import annotations

import datetime
import decimal
import json
from collections.abc import Iterable
from typing import Any

import pyarrow as pa


def canonical_value(value: Any) -> Any:
    """The JSON form of a Python value, as `pyarrow` and Spark's `Row.asDict` give it; maps are lists of pairs."""
    match value:
        case bool() | int() | str() | None:
            return value
        case float():
            return repr(value)
        case decimal.Decimal():
            return format(value, "f")
        case datetime.datetime():
            instant = value.tzinfo is not None
            naive = value.astimezone(datetime.timezone.utc).replace(tzinfo=None) if instant else value
            return naive.isoformat(timespec="microseconds") + ("Z" if instant else "")
        case datetime.date():
            return value.isoformat()
        case bytes() | bytearray() | memoryview():
            return "hex:" + bytes(value).hex()
        case dict():
            return {name: canonical_value(part) for name, part in value.items()}
        case list() if value and all(isinstance(item, tuple) for item in value):
            pairs = [[canonical_value(key), canonical_value(item)] for key, item in value]
            return {"__map__": sorted(pairs, key=lambda pair: json.dumps(pair[0], sort_keys=True))}
        case list() | tuple():
            return [canonical_value(item) for item in value]
    return str(value)


def canonical_rows(rows: Iterable[Iterable[Any]]) -> list[list[Any]]:
    """Rows in canonical form, in the order of `expected.json`."""
    return sorted_rows([[canonical_value(value) for value in row] for row in rows])


def canonical_table(table: pa.Table) -> list[list[Any]]:
    """The rows of an Arrow table in canonical form."""
    return canonical_rows(zip(*(column.to_pylist() for column in table.columns), strict=True))


def sorted_rows(rows: Iterable[list[Any]]) -> list[list[Any]]:
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True, default=str))
