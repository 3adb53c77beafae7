"""Batches of an engine converted to a table's Arrow types, and checked for nulls in required fields."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

import numpy as np
import pyarrow as pa

from sqlext.errors import DataError
from sqlext.spec.schema import Schema
from sqlext.spec.types import ListType, MapType, StringType, StructType, Type, UnknownType
from sqlext.write.arrow_schema import VARIANT, schema_to_arrow


class Aligner:
    """Converts columns, taken by position, to the Arrow types of a schema."""

    def __init__(self, schema: Schema, table_name: str) -> None:
        self.arrow_schema = schema_to_arrow(schema)
        self._types: tuple[Type, ...] = tuple(field.type for field in schema.fields)
        self._table_name = table_name

    def align(self, columns: Iterable[pa.Array]) -> pa.RecordBatch:
        """A batch of `arrow_schema`; a column that has the right type is not copied, and codes of a dictionary of such
        values stay.

        A decimal may come as its unscaled value, an int64. Columns of type unknown are among `columns` and are dropped.

        Raises DataError NULL_IN_REQUIRED_COLUMN, or INVALID_COLUMN_VALUE for a value that the column cannot hold.
        """
        given = [pair for pair in zip(columns, self._types, strict=True) if not isinstance(pair[1], UnknownType)]
        aligned = [
            self._aligned(column, type, field) for (column, type), field in zip(given, self.arrow_schema, strict=True)
        ]
        fields = [field.with_type(column.type) for field, column in zip(self.arrow_schema, aligned, strict=True)]
        return pa.RecordBatch.from_arrays(aligned, schema=pa.schema(fields))

    def _aligned(self, column: pa.Array, type: Type, field: pa.Field) -> pa.Array:
        try:
            aligned = _converted(column, type, field.type)
            if _holds_text(type):
                # A string that Spark has cast from a binary may not be UTF-8.
                aligned.validate(full=True)
        except (pa.ArrowException, ValueError) as error:
            raise DataError(
                "INVALID_COLUMN_VALUE", column=field.name, table=self._table_name, type=type, reason=error
            ) from error
        missing = _missing_value(aligned, field, field.name)
        if missing is not None:
            raise DataError("NULL_IN_REQUIRED_COLUMN", column=missing, table=self._table_name)
        return _without_hidden_nulls(aligned)


def _holds_text(type: Type) -> bool:
    match type:
        case StructType(fields=fields):
            return any(_holds_text(field.type) for field in fields)
        case ListType(element=element):
            return _holds_text(element)
        case MapType(key=key, value=value):
            return _holds_text(key) or _holds_text(value)
    return isinstance(type, StringType)


def _converted(column: pa.Array, type: Type, target: pa.DataType) -> pa.Array:
    if column.type.equals(target):
        return column
    if pa.types.is_dictionary(column.type):
        return column if column.type.value_type.equals(target) else _converted(column.dictionary_decode(), type, target)
    if pa.types.is_decimal(target) and pa.types.is_int64(column.type):
        return _from_digits(column, target)
    return _retyped(column, target)


def _from_digits(digits: pa.Array, target: pa.DataType) -> pa.Array:
    """Decimals of 128 bits from unscaled values of 64, by sign extension."""
    if digits.offset:
        digits = digits.take(pa.array(np.arange(len(digits))))
    validity, data = digits.buffers()
    values = np.frombuffer(data, np.int64, len(digits))
    words = np.column_stack((values, values >> 63))
    return pa.Array.from_buffers(target, len(digits), [validity, pa.py_buffer(words)], digits.null_count)


def _is_text(type: pa.DataType) -> bool:
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(test(type) for test in tests)


def _retyped(column: pa.Array, target: pa.DataType) -> pa.Array:
    """A nested column with the field names and nullability of `target`; only leaves that differ are copied.

    Arrow's cast refuses to make a nested field required; here that is checked afterwards.
    """
    if column.type.equals(target):
        return column
    if pa.types.is_fixed_size_binary(target) and _is_text(column.type):
        # Only a uuid comes as text and is stored as bytes.
        return pa.array([None if text is None else UUID(text).bytes for text in column.to_pylist()], target)
    if not pa.types.is_nested(target):
        return column.cast(target)
    if column.offset:
        column = column.take(pa.array(range(len(column)), pa.int64()))
    validity = column.buffers()[0]
    if pa.types.is_struct(target):
        _require(pa.types.is_struct(column.type), column, target)
        parts = _parts(column, target)
        _require(len(parts) == target.num_fields, column, target)
        children = [_retyped(part, target.field(index).type) for index, part in enumerate(parts)]
        return pa.Array.from_buffers(target, len(column), [validity], column.null_count, children=children)
    if pa.types.is_map(target):
        _require(pa.types.is_map(column.type), column, target)
        entries = [_retyped(column.keys, target.key_type), _retyped(column.items, target.item_type)]
        children = [pa.StructArray.from_arrays(entries, fields=[target.key_field, target.item_field])]
    else:
        if pa.types.is_large_list(column.type):
            column = column.cast(pa.list_(column.type.value_field))
        _require(pa.types.is_list(column.type), column, target)
        children = [_retyped(column.values, target.value_type)]
    buffers = [validity, column.buffers()[1]]
    return pa.Array.from_buffers(target, len(column), buffers, column.null_count, children=children)


def _parts(struct: pa.StructArray, target: pa.DataType) -> list[pa.Array]:
    """The fields of a struct in the order of `target`, which lacks those of type unknown."""
    parts = [struct.field(index) for index in range(struct.type.num_fields)]
    names = [field.name for field in struct.type]
    if target.equals(VARIANT) and sorted(names) == ["metadata", "value"]:
        # Spark sends a null variant with null parts, which the format does not admit.
        return [parts[names.index(field.name)].fill_null(b"") for field in target]
    if len(parts) > target.num_fields:
        return [part for part in parts if not pa.types.is_null(part.type)]
    return parts


def _require(fits: bool, column: pa.Array, target: pa.DataType) -> None:
    if not fits:
        raise ValueError(f"it comes as {column.type} where {target} is needed")


def _missing_value(array: pa.Array, field: pa.Field, path: str) -> str | None:
    """The path of a required field, this column or one below it, that is null in some row; None if there is none."""
    if not field.nullable and array.null_count:
        return path
    if not _requires_below(field.type) or not len(array):
        return None
    if pa.types.is_struct(field.type):
        present = array.filter(array.is_valid()) if array.null_count else array
        parts = [(present.field(index), field.type.field(index)) for index in range(field.type.num_fields)]
    elif pa.types.is_map(field.type):
        parts = [(_items(array), field.type.item_field)]
    else:
        parts = [(array.flatten(), field.type.value_field)]
    found = (_missing_value(part, child, f"{path}.{child.name}") for part, child in parts)
    return next((missing for missing in found if missing is not None), None)


def _requires_below(type: pa.DataType) -> bool:
    """Whether a nested type has a required field; keys of maps are never null in Arrow."""
    if pa.types.is_struct(type):
        children = [type.field(index) for index in range(type.num_fields)]
    elif pa.types.is_map(type):
        children = [type.item_field]
    else:
        children = [type.value_field] if pa.types.is_list(type) else []
    return any(not child.nullable or _requires_below(child.type) for child in children)


def _without_hidden_nulls(array: pa.Array) -> pa.Array:
    """The array without the nulls of required fields below null values, which Arrow would not write."""
    if not _requires_below(array.type):
        return array
    if array.offset:
        array = array.take(pa.array(range(len(array)), pa.int64()))
    if pa.types.is_struct(array.type):
        parts = [(array.field(index), array.type.field(index)) for index in range(array.type.num_fields)]
        children = [_hiding_none(part, field) for part, field in parts]
    elif pa.types.is_map(array.type):
        entries = [_without_hidden_nulls(array.keys), _hiding_none(array.items, array.type.item_field)]
        children = [pa.StructArray.from_arrays(entries, fields=[array.type.key_field, array.type.item_field])]
    else:
        children = [_hiding_none(array.values, array.type.value_field)]
    own = array.buffers()[: 1 if pa.types.is_struct(array.type) else 2]
    return pa.Array.from_buffers(array.type, len(array), own, array.null_count, children=children)


def _hiding_none(array: pa.Array, field: pa.Field) -> pa.Array:
    return _without_hidden_nulls(array if field.nullable else _all_valid(array))


def _all_valid(array: pa.Array) -> pa.Array:
    """The array with any value in place of each null."""
    if not array.null_count:
        return array
    if array.offset:
        array = array.take(pa.array(range(len(array)), pa.int64()))
    if pa.types.is_struct(array.type):
        children = [array.field(index) for index in range(array.type.num_fields)]
        return pa.Array.from_buffers(array.type, len(array), [None], 0, children=children)
    if pa.types.is_nested(array.type):
        offsets = array.buffers()[1]
        child = array.values if pa.types.is_list(array.type) else _entries(array)
        return pa.Array.from_buffers(array.type, len(array), [None, offsets], 0, children=[child])
    return pa.Array.from_buffers(array.type, len(array), [None, *array.buffers()[1:]], 0)


def _entries(maps: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays([maps.keys, maps.items], fields=[maps.type.key_field, maps.type.item_field])


def _items(maps: pa.Array) -> pa.Array:
    """The values of all maps that are not null."""
    lists = pa.list_(pa.field("value", maps.type.item_type))
    buffers = [maps.buffers()[0], maps.buffers()[1]]
    return pa.Array.from_buffers(
        lists, len(maps), buffers, maps.null_count, maps.offset, children=[maps.items]
    ).flatten()
