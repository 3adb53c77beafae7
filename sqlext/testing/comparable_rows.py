"""Rows of any origin as Python values that are equal if SQL takes them for the same."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any, TypeAlias
from uuid import UUID

import pyarrow as pa

from sqlext.local.local_table import LocalTable

Row: TypeAlias = Mapping[str, Any]
"""Values by column."""

_NAN = "NaN"


@dataclass(frozen=True)
class GivenRows:
    """Rows in the order in which they were given, and their columns; `key` is that of the table, if it has one."""

    columns: tuple[str, ...]
    rows: Sequence[Row]
    key: tuple[str, ...] = ()


def given_rows(rows: Any) -> GivenRows:
    """The rows of a table of `sqlext.local`, a DataFrame of Spark, Polars or pandas, a table, batch or reader of
    PyArrow, or a sequence of mappings or of Spark's rows, where a column that a row lacks is null.

    Raises TypeError for anything else.
    """
    if isinstance(rows, LocalTable):
        return GivenRows(tuple(rows.schema.names), _of_arrow(rows.to_arrow()), rows.key)
    kind = type(rows)
    if kind.__module__.startswith("pyspark.sql") and hasattr(rows, "toArrow"):
        table = rows.toArrow()
        return GivenRows(tuple(table.column_names), _of_arrow(table))
    if isinstance(rows, pa.RecordBatch):
        rows = pa.Table.from_batches([rows])
    elif isinstance(rows, pa.RecordBatchReader):
        rows = rows.read_all()
    elif kind.__module__.partition(".")[0] == "pandas":
        rows = pa.Table.from_pandas(rows, preserve_index=False)
    elif hasattr(rows, "__arrow_c_stream__"):
        rows = pa.table(rows)
    if isinstance(rows, pa.Table):
        return GivenRows(tuple(rows.column_names), _of_arrow(rows))
    if isinstance(rows, Iterable) and not isinstance(rows, str | bytes | Mapping):
        found = [_mapping(row) for row in rows]
        columns = tuple(dict.fromkeys(name for row in found for name in row))
        return GivenRows(columns, [{name: row.get(name) for name in columns} for row in found])
    raise TypeError(
        "rows to compare are a table of sqlext.local, a DataFrame of Spark, Polars or pandas, rows of PyArrow or a"
        f" list of dictionaries, not a {kind.__name__}"
    )


def comparable(value: Any) -> Any:
    """A hashable value that is equal for equal values of SQL.

    NaN equals itself and 0.0 equals -0.0; decimals are compared without their scale, numbers of different types by
    value, timestamps with a zone as moments, uuids as texts, structs and maps by their entries in any order. A
    timestamp without a zone is never equal to one with a zone, nor a number to a boolean.
    """
    if isinstance(value, bool | str):
        return (type(value).__name__, value)
    if isinstance(value, float) and math.isnan(value):
        return ("number", _NAN)
    if isinstance(value, Decimal) and value.is_nan():
        return ("number", _NAN)
    if isinstance(value, int | float | Decimal):
        return ("number", value)
    if isinstance(value, datetime):
        return ("moment", value.astimezone(timezone.utc)) if value.tzinfo is not None else ("timestamp", value)
    if isinstance(value, bytes | bytearray | memoryview):
        return ("bytes", bytes(value))
    if isinstance(value, UUID):
        return ("str", str(value))
    if isinstance(value, Mapping):
        return ("entries", frozenset((comparable(key), comparable(one)) for key, one in value.items()))
    if isinstance(value, _Map):
        return ("entries", frozenset((comparable(key), comparable(one)) for key, one in value))
    if isinstance(value, list | tuple):
        return ("list", tuple(comparable(one) for one in value))
    if hasattr(value, "item") and type(value).__module__ == "numpy":
        return comparable(value.tolist())
    return (type(value).__name__, value)


class _Map(tuple[tuple[Any, Any], ...]):
    """The entries of a map, whose keys need not be hashable."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{key!r}: {value!r}" for key, value in self) + "}"


def _mapping(row: Any) -> Mapping[str, Any]:
    if isinstance(row, Mapping):
        return row
    if hasattr(row, "asDict"):
        found: Mapping[str, Any] = row.asDict(recursive=True)
        return found
    raise TypeError(f"a row is a dictionary or a row of Spark, not a {type(row).__name__}: {row!r:.80}")


def _of_arrow(table: pa.Table) -> list[dict[str, Any]]:
    columns = [_values(column) for column in table.columns]
    return [dict(zip(table.column_names, values, strict=True)) for values in zip(*columns, strict=True)] or [
        {} for _ in range(table.num_rows if not columns else 0)
    ]


def _values(column: pa.ChunkedArray) -> list[Any]:
    """The values; nanoseconds, which Python has not, as integers, and maps as such."""
    if _has_maps(column.type):
        return [_with_maps(value, column.type) for value in column.to_pylist()]
    values: list[Any] = column.to_pylist()
    return values


def _has_maps(type: pa.DataType) -> bool:
    return pa.types.is_map(type) or any(_has_maps(type.field(at).type) for at in range(type.num_fields))


def _with_maps(value: Any, type: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_map(type):
        return _Map((_with_maps(key, type.key_type), _with_maps(one, type.item_type)) for key, one in value)
    if pa.types.is_struct(type):
        return {one.name: _with_maps(value[one.name], one.type) for one in type}
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return [_with_maps(one, type.value_type) for one in value]
    return value
