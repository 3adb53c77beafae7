"""One JSON form of rows for every engine, so that answers compare with `==`.

null, booleans, integers and strings as they are; float and double as their repr; decimal as a string with the column's
scale; date 'YYYY-MM-DD'; timestamps ISO with microseconds, 'Z' behind those with a zone; binary 'hex:..'; struct
{"f": v}; array [..]; map {"__map__": [[k, v], ..]} sorted by key; variant {"__variant__": its JSON}. The process must
run with TZ=UTC, since PySpark hands timestamps over in the process's zone.
"""

from __future__ import annotations

import datetime
import decimal
import json
from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimestampNTZType, VariantType


def canonical_rows(frame: DataFrame, *, ordered: bool = False) -> list[list[Any]]:
    """All rows of a DataFrame, sorted unless `ordered`."""
    fields = frame.schema.fields
    rows = [[canonical_value(row[i], field.dataType) for i, field in enumerate(fields)] for row in frame.collect()]
    return rows if ordered else sort_rows(rows)


def sort_rows(rows: Iterable[list[Any]]) -> list[list[Any]]:
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True, default=str))


def canonical_value(value: Any, type_: DataType) -> Any:
    """Canonical form of one value that PySpark handed over for a column of `type_`."""
    if value is None:
        return None
    if isinstance(type_, StructType):
        return {field.name: canonical_value(value[i], field.dataType) for i, field in enumerate(type_.fields)}
    if isinstance(type_, ArrayType):
        return [canonical_value(item, type_.elementType) for item in value]
    if isinstance(type_, VariantType):
        return {"__variant__": json.loads(value.toJson())}
    if isinstance(type_, MapType):
        pairs = [[canonical_value(k, type_.keyType), canonical_value(v, type_.valueType)] for k, v in value.items()]
        return {"__map__": sorted(pairs, key=lambda pair: json.dumps(pair[0], sort_keys=True))}
    return canonical_scalar(value, zoned=not isinstance(type_, TimestampNTZType))


def canonical_scalar(value: Any, *, zoned: bool) -> Any:
    """Canonical form of a Python scalar; a naive datetime is UTC, with a 'Z' where the column has a zone."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return "nan" if value != value else repr(value)
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return value.isoformat(timespec="microseconds") + ("Z" if zoned else "")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "hex:" + bytes(value).hex()
    return str(value)
