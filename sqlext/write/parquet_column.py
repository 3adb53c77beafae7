"""The leaf columns of a schema in a Parquet file, in the order of the file (spec: Appendix A, Parquet)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlext.spec.schema import Schema
from sqlext.spec.types import ListType, MapType, NestedField, StructType, Type, VariantType, is_primitive

VARIANT_PARTS = ("metadata", "value")


@dataclass(frozen=True, slots=True)
class ParquetColumn:
    """A leaf. `names` is its path in the file; `indices` are the positions of its column and of the fields below it.

    A leaf inside a list or a map is `repeated`: it has a size, but neither counts nor bounds. A variant has two leaves,
    both with its field id.
    """

    names: tuple[str, ...]
    field_id: int
    type: Type
    repeated: bool
    indices: tuple[int, ...]

    @property
    def path(self) -> str:
        """The dotted path, the key of pyarrow's settings; a column `a.b` and a field `b` of `a` share one."""
        return ".".join(self.names)


def parquet_columns(schema: Schema) -> tuple[ParquetColumn, ...]:
    """The leaves of all columns, in the order of the file."""
    return tuple(
        leaf
        for index, field in enumerate(schema.fields)
        for leaf in _leaves((field.name,), field.id, field.type, False, (index,))
    )


def variant_groups(columns: Iterable[ParquetColumn]) -> frozenset[tuple[str, ...]]:
    """The paths of the groups that are variants."""
    return frozenset(column.names[:-1] for column in columns if isinstance(column.type, VariantType))


def _leaves(
    names: tuple[str, ...], id: int, type: Type, repeated: bool, indices: tuple[int, ...]
) -> Iterator[ParquetColumn]:
    if isinstance(type, VariantType):
        for index, part in enumerate(VARIANT_PARTS):
            yield ParquetColumn((*names, part), id, type, repeated, (*indices, index))
        return
    if is_primitive(type):
        yield ParquetColumn(names, id, type, repeated, indices)
        return
    for inner, child_id, child, child_repeated, index in _children(type):
        yield from _leaves((*names, *inner), child_id, child, repeated or child_repeated, (*indices, index))


def _children(type: Type) -> Iterator[tuple[tuple[str, ...], int, Type, bool, int]]:
    match type:
        case StructType(fields=fields):
            field: NestedField
            for index, field in enumerate(fields):
                yield (field.name,), field.id, field.type, False, index
        case ListType():
            yield ("list", "element"), type.element_id, type.element, True, 0
        case MapType():
            yield ("key_value", "key"), type.key_id, type.key, True, 0
            yield ("key_value", "value"), type.value_id, type.value, True, 1
