"""What of a column's past or type keeps its values from being read by field id alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlext.errors import UnsupportedError
from sqlext.spec.table_metadata import TableMetadata
from sqlext.spec.types import BinaryType, FixedType, ListType, MapType, NestedField, StructType, Type, UuidType

# Spark's Parquet reader has no way to give one where a file lacks the column.
_BYTES = (BinaryType, FixedType, UuidType)


def require_readable_columns(metadata: TableMetadata, fields: Iterable[NestedField]) -> None:
    """Raises UnsupportedError, naming feature and column, where the data files would give other values than they mean.

    A file older than a column with an initial default must give that default, not null (spec: "Column Projection").
    """
    for field in fields:
        for name, inner in _with_children(field):
            if inner.initial_default is None:
                continue
            if inner is not field:
                raise _unsupported(f"defaults inside a struct (the initial default of {name})")
            if isinstance(inner.type, _BYTES):
                raise _unsupported(f"defaults of type {inner.type} (the initial default of {name})")


def _unsupported(feature: str) -> UnsupportedError:
    return UnsupportedError("UNSUPPORTED_TABLE_FEATURE", feature=feature)


def _with_children(field: NestedField, prefix: str = "") -> Iterator[tuple[str, NestedField]]:
    name = prefix + field.name
    yield name, field
    for child in _children(field.type):
        yield from _with_children(child, f"{name}.")


def _children(data_type: Type) -> tuple[NestedField, ...]:
    if isinstance(data_type, StructType):
        return data_type.fields
    if isinstance(data_type, ListType):
        return (NestedField(data_type.element_id, "element", data_type.element),)
    if isinstance(data_type, MapType):
        key = NestedField(data_type.key_id, "key", data_type.key)
        return (key, NestedField(data_type.value_id, "value", data_type.value))
    return ()
