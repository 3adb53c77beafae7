"""Rows that a caller gives, in a table's columns by Spark's store assignment under the policy ANSI.

What Spark would convert otherwise, or by the time zone of its session, is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from sqlext.errors import AnalysisError, DataError
from sqlext.scan.filter.arrow_literals import literal_scalar
from sqlext.spec.row_kind import ROW_KIND
from sqlext.spec.schema import Schema
from sqlext.spec.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    Type,
    UnknownType,
    UuidType,
)
from sqlext.write.arrow_schema import type_to_arrow

_SESSION_ZONE = "their conversion depends on the time zone of a session"


@dataclass(frozen=True, slots=True)
class GivenRows:
    """Rows with all columns of a table, in its order and types. `kinds` are the row kinds of rows that have them."""

    rows: pa.Table
    kinds: pa.ChunkedArray | None = None


def names_of(columns: Sequence[str]) -> tuple[str, ...]:
    """The names of columns; a text is one name, and no sequence of letters."""
    return (columns,) if isinstance(columns, str) else tuple(columns)


def arrow_rows(rows: Any, schema: Schema, table: str) -> pa.Table:
    """What a caller gives, as Arrow: a table, batch or reader of PyArrow, a DataFrame of Polars or pandas, anything
    with the Arrow stream interface, or a sequence of mappings with the same names.

    `schema` tells the types of values in mappings that have several readings. Raises AnalysisError LOCAL_ROWS_REFUSED.
    """
    if isinstance(rows, pa.Table):
        return rows
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    if isinstance(rows, pa.RecordBatchReader):
        return rows.read_all()
    if type(rows).__module__.partition(".")[0] == "pandas":
        return pa.Table.from_pandas(rows, preserve_index=False)
    if hasattr(rows, "__arrow_c_stream__"):
        return pa.table(rows)
    if isinstance(rows, Sequence) and not isinstance(rows, str | bytes) and all(isinstance(r, Mapping) for r in rows):
        return _of_mappings(rows, schema, table)
    found = type(rows).__name__
    if isinstance(rows, list | tuple):
        found += f" with {next(type(one).__name__ for one in rows if not isinstance(one, Mapping))} in it"
    reason = f"they are {found}, not rows of PyArrow, Polars or pandas, or a list of dictionaries"
    raise AnalysisError("LOCAL_ROWS_REFUSED", table=table, reason=reason)


def _of_mappings(rows: Sequence[Mapping[str, Any]], schema: Schema, table: str) -> pa.Table:
    if not rows:
        return pa.table({})
    names = list(rows[0])
    if any(row.keys() != rows[0].keys() for row in rows):
        raise AnalysisError("LOCAL_ROWS_REFUSED", table=table, reason="not all of them have the same columns")
    by_name = {field.name.lower(): field for field in schema.fields}
    columns = []
    for name in names:
        values, field = [row[name] for row in rows], by_name.get(name.lower())
        try:
            columns.append(_inferred(values, None if field is None else field.type))
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
            wanted = "a column" if field is None else field.type
            raise DataError("INVALID_COLUMN_VALUE", column=name, table=table, type=wanted, reason=error) from None
    return pa.table(columns, names=names)


def _inferred(values: list[Any], type: Type | None) -> pa.Array:
    if any(isinstance(value, UUID) for value in values):
        return pa.array([value if value is None else str(value) for value in values], pa.string())
    if isinstance(type, StructType | ListType | MapType) and _holds_map(type):
        return pa.array(values, type_to_arrow(type))
    return pa.array(values)


def _holds_map(type: Type) -> bool:
    match type:
        case MapType():
            return True
        case StructType(fields=fields):
            return any(_holds_map(field.type) for field in fields)
        case ListType(element=element):
            return _holds_map(element)
    return False


def rows_for(rows: Any, schema: Schema, table: str, *, with_kinds: bool = False) -> GivenRows:
    """The rows in the columns of `schema`, which are found by name without regard to case; one that is not given has
    its default, or null. With `with_kinds` there may be a further column `ROW_KIND`.

    Raises AnalysisError LOCAL_ROWS_REFUSED, and DataError INVALID_COLUMN_VALUE for a value that does not fit.
    """
    given = arrow_rows(rows, schema, table)
    columns = {name.lower(): given.column(at) for at, name in enumerate(given.column_names)}
    if len(columns) < given.num_columns:
        raise AnalysisError("LOCAL_ROWS_REFUSED", table=table, reason="two of their columns have one name")
    kinds = columns.pop(ROW_KIND.name, None) if with_kinds else None
    own = {field.name.lower() for field in schema.fields}
    if len(own) < len(schema.fields):
        raise AnalysisError("LOCAL_ROWS_REFUSED", table=table, reason="columns of the table differ in case only")
    unknown = [name for name in given.column_names if name.lower() in columns and name.lower() not in own]
    if unknown:
        listed = ", ".join(field.name for field in schema.fields)
        reason = f"the table has no column {', '.join(unknown)}; it has {listed}"
        raise AnalysisError("LOCAL_ROWS_REFUSED", table=table, reason=reason)
    found = [_column(columns.get(field.name.lower()), field, given.num_rows, table) for field in schema.fields]
    shape = pa.schema([(field.name, column.type) for field, column in zip(schema.fields, found, strict=True)])
    if kinds is not None:
        kinds = _assigned_chunks(kinds, ROW_KIND, table)
    return GivenRows(pa.Table.from_arrays(found, schema=shape), kinds)


def _column(given: pa.ChunkedArray | None, field: NestedField, count: int, table: str) -> pa.ChunkedArray:
    if isinstance(field.type, UnknownType):
        if given is not None and given.null_count < count:
            raise _refused(field.name, given.type, field.type, table)
        return pa.chunked_array([pa.nulls(count)])
    if given is None:
        arrow = type_to_arrow(field.type)
        value = None if field.write_default is None else literal_scalar(field.write_default, arrow)
        return pa.chunked_array([pa.nulls(count, arrow) if value is None else pa.repeat(value, count)])
    return _assigned_chunks(given, field, table)


def _assigned_chunks(given: pa.ChunkedArray, field: NestedField, table: str) -> pa.ChunkedArray:
    arrow = type_to_arrow(field.type)
    try:
        return pa.chunked_array([_assigned(chunk, field.type, arrow) for chunk in given.chunks], arrow)
    except _WrongType as wrong:
        raise _refused(field.name, wrong.given, wrong.wanted, table, wrong.reason) from None
    except (pa.ArrowException, ValueError, OverflowError) as error:
        raise DataError("INVALID_COLUMN_VALUE", column=field.name, table=table, type=field.type, reason=error) from None


class _WrongType(Exception):
    """Values of a type that is not assigned."""

    def __init__(
        self, given: pa.DataType, wanted: Type, reason: str = "Spark refuses it too, unless it is cast"
    ) -> None:
        super().__init__(reason)
        self.given, self.wanted, self.reason = given, wanted, reason


def _refused(column: str, given: pa.DataType, wanted: Type, table: str, reason: str = "") -> AnalysisError:
    told = f"the column {column} is of type {wanted}, and its values are of {given}" + (f": {reason}" if reason else "")
    return AnalysisError("LOCAL_ROWS_REFUSED", table=table, reason=told)


def _assigned(column: pa.Array, type: Type, arrow: pa.DataType) -> pa.Array:
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    given = column.type
    if given.equals(arrow) and not isinstance(type, StructType | ListType | MapType):
        return column
    if pa.types.is_null(given):
        return pa.nulls(len(column), arrow)
    match type:
        case StructType() | ListType() | MapType():
            return _nested(column, type, arrow)
        case StringType():
            return _texts(column)
        case UuidType() if _is_text(given):
            return pa.array([None if one is None else UUID(one).bytes for one in column.to_pylist()], arrow)
        case TimestampType() | TimestamptzType() if pa.types.is_timestamp(given):
            if (given.tz is None) != isinstance(type, TimestampType):
                raise _WrongType(given, type, _SESSION_ZONE)
            return column.cast(pa.timestamp("us", given.tz)).cast(arrow)
        case TimestampType() if pa.types.is_date(given):
            return column.cast(pa.date32()).cast(arrow)
        case TimestamptzType() if pa.types.is_date(given):
            raise _WrongType(given, type, _SESSION_ZONE)
        case DateType() if pa.types.is_date(given):
            return column.cast(arrow)
        case DateType() if pa.types.is_timestamp(given) and given.tz is None:
            return pc.floor_temporal(column, unit="day").cast(arrow)
        case IntegerType() | LongType() | FloatType() | DoubleType() | DecimalType() if _is_number(given):
            return _number(column, type, arrow)
    if _is_bytes(given) and (_is_bytes(arrow) or pa.types.is_fixed_size_binary(arrow)):
        return column.cast(arrow)
    if pa.types.is_time(given) and pa.types.is_time(arrow):
        return column.cast(arrow)
    raise _WrongType(given, type)


def _is_text(type: pa.DataType) -> bool:
    return any(test(type) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def _is_bytes(type: pa.DataType) -> bool:
    tests = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary)
    return any(test(type) for test in tests)


def _is_number(type: pa.DataType) -> bool:
    return any(test(type) for test in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal))


def _texts(column: pa.Array) -> pa.Array:
    given = column.type
    if _is_text(given) or pa.types.is_integer(given):
        return column.cast(pa.string())
    if pa.types.is_boolean(given) or pa.types.is_date(given):
        texts = {True: "true", False: "false"}
        made: Callable[[Any], str] = texts.__getitem__ if pa.types.is_boolean(given) else date.isoformat
        return pa.array([None if one is None else made(one) for one in column.to_pylist()], pa.string())
    raise _WrongType(given, StringType(), "Spark would make texts of them that are not made here; cast them")


def _number(column: pa.Array, type: Type, arrow: pa.DataType) -> pa.Array:
    """Numbers of one type as those of another; an ArrowInvalid tells of those out of range."""
    given = column.type
    if isinstance(type, FloatType | DoubleType):
        if pa.types.is_decimal(given):
            values = [None if one is None else float(one) for one in column.to_pylist()]
            return pa.array(values, pa.float64()).cast(arrow, safe=False)
        return column.cast(arrow, safe=False)
    if isinstance(type, IntegerType | LongType):
        # Spark cuts off the fraction, and refuses NaN and numbers out of range.
        whole = column if pa.types.is_integer(given) else pc.trunc(column)
        return whole.cast(arrow)
    assert isinstance(type, DecimalType)
    if pa.types.is_floating(given):
        raise _WrongType(given, type, "Spark would round them by their texts; give decimals")
    if pa.types.is_integer(given):
        column = column.cast(pa.decimal128(20, 0))
    elif given.scale > type.scale:
        column = pc.round(column, ndigits=type.scale, round_mode="half_towards_infinity")
    return column.cast(arrow)


def _nested(column: pa.Array, type: Type, arrow: pa.DataType) -> pa.Array:
    given = column.type
    if column.offset:
        column = column.take(pa.array(range(len(column)), pa.int64()))
    match type:
        case StructType(fields=fields) if pa.types.is_struct(given):
            by_name = {field.name.lower(): at for at, field in enumerate(given)}
            stored = [field for field in fields if not isinstance(field.type, UnknownType)]
            if sorted(by_name) != sorted(field.name.lower() for field in stored):
                raise _WrongType(given, type, "it has other fields")
            children = [
                _assigned(column.field(by_name[field.name.lower()]), field.type, arrow.field(at).type)
                for at, field in enumerate(stored)
            ]
            validity = column.buffers()[0]
            return pa.Array.from_buffers(arrow, len(column), [validity], column.null_count, children=children)
        case ListType(element=element) if pa.types.is_list(given) or pa.types.is_large_list(given):
            if pa.types.is_large_list(given):
                column = column.cast(pa.list_(given.value_field))
            children = [_assigned(column.values, element, arrow.value_type)]
        case MapType(key=key, value=value) if pa.types.is_map(given):
            entries = [_assigned(column.keys, key, arrow.key_type), _assigned(column.items, value, arrow.item_type)]
            children = [pa.StructArray.from_arrays(entries, fields=[arrow.key_field, arrow.item_field])]
        case _:
            raise _WrongType(given, type)
    buffers = [column.buffers()[0], column.buffers()[1]]
    return pa.Array.from_buffers(arrow, len(column), buffers, column.null_count, children=children)
