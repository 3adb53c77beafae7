"""Which columns Spark 4.0 must read whole, or not at all: by the schemas that a table had."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from sqlext.spark.catalog.evolved_structs import evolved_structs
from sqlext.spec.metadata.table_metadata import new_table_metadata
from sqlext.spec.partition_spec import UNPARTITIONED
from sqlext.spec.schema import Schema
from sqlext.spec.sort_order import UNSORTED
from sqlext.spec.types import IntegerType, ListType, MapType, NestedField, StringType, StructType, Type

A, B, C = (NestedField(id, name, IntegerType(), required=False) for id, name in ((10, "a"), (11, "b"), (12, "c")))


def struct(*fields: NestedField) -> StructType:
    return StructType(fields)


def column(data_type: Type) -> tuple[NestedField, ...]:
    return (NestedField(1, "s", data_type, required=False), NestedField(2, "t", StringType(), required=False))


def in_list(inner: Type) -> Type:
    return ListType(3, inner, element_required=False)


def in_map(inner: Type) -> Type:
    return MapType(4, StringType(), 5, inner, value_required=False)


@pytest.mark.parametrize("around", [lambda inner: inner, in_list, in_map, lambda inner: in_map(in_list(inner))])
@pytest.mark.parametrize(
    ("structs", "grown", "renewed"),
    [
        ([struct(A)], [], []),
        ([struct(A, B), struct(A)], [], []),
        ([struct(A), struct(A, B)], ["s"], []),
        ([struct(A), struct(A, B), struct(B)], [], ["s"]),
        ([struct(A, B), struct(B), struct(B, C)], ["s"], []),
        ([struct(), struct(A)], ["s"], []),
    ],
)
def test_structs(
    around: Callable[[Type], Type], structs: Sequence[StructType], grown: list[str], renewed: list[str]
) -> None:
    schemas = [Schema(column(around(one)), schema_id=number) for number, one in enumerate(structs)]
    metadata = new_table_metadata(schemas[0], UNPARTITIONED, UNSORTED, "file:///t", {}, 2, "uuid", 0)
    assert evolved_structs(replace(metadata, schemas=tuple(schemas)), schemas[-1]) == (grown, renewed)
