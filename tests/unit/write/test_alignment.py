from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sqlext.errors import DataError
from sqlext.spec.schema import Schema
from sqlext.spec.types import (
    DecimalType,
    FixedType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
)
from sqlext.write.alignment import Aligner

NESTED = Schema(
    (
        NestedField(
            1, "s", StructType((NestedField(2, "a", LongType(), required=True), NestedField(3, "b", StringType())))
        ),
        NestedField(4, "l", ListType(5, StructType((NestedField(6, "x", LongType(), required=True),)), True)),
        NestedField(7, "m", MapType(8, StringType(), 9, LongType(), True)),
    )
)
STRUCTS = [{"a": 1, "b": "x"}, None, {"a": 2, "b": None}]
LISTS = [[{"x": 1}, {"x": 2}], None, []]
MAPS = [[("k", 1)], None, [("k", 2), ("j", 3)]]


def engine_columns(structs: list, lists: list, maps: list) -> list[pa.Array]:  # type: ignore[type-arg]
    """Columns under an engine's own child names, in narrower types, all nullable."""
    return [
        pa.array(structs, pa.struct([pa.field("a", pa.int32()), pa.field("b", pa.large_string())])),
        pa.array(lists, pa.list_(pa.field("item", pa.struct([pa.field("x", pa.int32())])))),
        pa.array(maps, pa.map_(pa.string(), pa.int32())),
    ]


def align(schema: Schema, *columns: pa.Array) -> pa.RecordBatch:
    return Aligner(schema, "lake.db.t").align(columns)


def test_nested_columns_take_the_names_and_nullability_of_the_table() -> None:
    batch = align(NESTED, *engine_columns(STRUCTS, LISTS, MAPS))
    assert batch.schema == Aligner(NESTED, "t").arrow_schema
    assert batch.column("l").type.value_field.name == "element"
    assert [column.to_pylist() for column in batch.columns] == [STRUCTS, LISTS, MAPS]
    batch.validate(full=True)


def test_slices_of_nested_columns_are_their_own_rows() -> None:
    batch = align(NESTED, *(column.slice(1, 2) for column in engine_columns(STRUCTS, LISTS, MAPS)))
    assert [column.to_pylist() for column in batch.columns] == [STRUCTS[1:], LISTS[1:], MAPS[1:]]
    batch.validate(full=True)


@pytest.mark.parametrize(
    ("structs", "lists", "maps", "column"),
    [
        ([{"a": None, "b": "x"}], [[]], [[]], "s.a"),
        ([None], [[None]], [[]], "l.element"),
        ([None], [[{"x": 1}, {"x": None}]], [[]], "l.element.x"),
        ([None], [[]], [[("k", None)]], "m.value"),
    ],
)
def test_null_in_a_required_nested_field_is_refused(structs: list, lists: list, maps: list, column: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(DataError) as refused:
        align(NESTED, *engine_columns(structs, lists, maps))
    assert refused.value.condition == "NULL_IN_REQUIRED_COLUMN"
    assert refused.value.parameters["column"] == column


@pytest.mark.parametrize(
    ("type", "values"),
    [
        (IntegerType(), pa.array([2**31])),
        (LongType(), pa.array([1.5])),
        (FixedType(4), pa.array([b"abc"])),
        (StringType(), pa.array([b"a", b"\xff"]).view(pa.string())),
        (StructType((NestedField(2, "a", LongType()),)), pa.array([1])),
        (ListType(2, LongType(), False), pa.array([{"a": 1}])),
    ],
)
def test_a_value_that_the_column_does_not_hold_is_refused(type, values: pa.Array) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DataError) as refused:
        align(Schema((NestedField(1, "c", type),)), values)
    assert refused.value.condition == "INVALID_COLUMN_VALUE"
    assert refused.value.parameters["column"] == "c"


def test_nulls_below_a_null_struct_are_written(tmp_path: Path) -> None:
    """Spark sends the fields of a null struct as nulls, also those that are required."""
    inner = StructType(
        (
            NestedField(3, "n", LongType(), required=True),
            NestedField(4, "t", StringType(), required=True),
            NestedField(5, "l", ListType(6, LongType(), True), required=True),
            NestedField(7, "s", StructType((NestedField(8, "x", LongType(), required=True),)), required=True),
            NestedField(9, "m", MapType(10, StringType(), 11, LongType(), True), required=True),
        )
    )
    values = [{"n": 1, "t": "a", "l": [1, 2], "s": {"x": 1}, "m": [("k", 1)]}, None]
    sent = pa.array(
        [values[0], dict.fromkeys("ntlsm")],
        pa.struct(
            [
                ("n", pa.int64()),
                ("t", pa.string()),
                ("l", pa.list_(pa.int64())),
                ("s", pa.struct([("x", pa.int64())])),
                ("m", pa.map_(pa.string(), pa.int64())),
            ]
        ),
    )
    parts = [sent.field(index) for index in range(sent.type.num_fields)]
    structs = pa.StructArray.from_arrays(parts, fields=list(sent.type), mask=pa.array([False, True]))
    batch = align(Schema((NestedField(1, "c", inner),)), structs)
    batch.validate(full=True)
    pq.write_table(pa.Table.from_batches([batch]), tmp_path / "c.parquet")
    assert pq.read_table(tmp_path / "c.parquet").column("c").to_pylist() == values


def test_a_column_of_the_right_type_is_not_copied() -> None:
    column = pa.array([1, 2, 3])
    (aligned,) = align(Schema((NestedField(1, "c", LongType()),)), column).columns
    assert aligned.buffers()[1].address == column.buffers()[1].address


def test_digits_become_decimals() -> None:
    schema = Schema((NestedField(1, "price", DecimalType(9, 2)),))
    digits = pa.array([7, 150, -1, None, 0, 10**9 - 1, -(10**9) + 1], pa.int64()).slice(1)
    batch = Aligner(schema, "t").align([digits])
    assert batch.column(0).to_pylist() == [
        Decimal("1.50"),
        Decimal("-0.01"),
        None,
        Decimal("0.00"),
        Decimal("9999999.99"),
        Decimal("-9999999.99"),
    ]
    batch.validate(full=True)
