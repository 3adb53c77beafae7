"""Partitioning of whole columns, against the spec's transforms value by value and against PyIceberg."""

from __future__ import annotations

import random
from decimal import Decimal
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg import transforms as pyiceberg_transforms
from pyiceberg import types as pyiceberg_types

from sqlext.errors import DataError, UnsupportedError
from sqlext.spec.partition_spec import PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.transform import BucketTransform, Transform, TruncateTransform, UnknownTransform, parse_transform
from sqlext.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    Type,
    UuidType,
)
from sqlext.write.arrow_schema import type_to_arrow
from sqlext.write.partitioner import Partitioner, transform_column

RANDOM = random.Random(7)
INTS = [0, 1, -1, 34, 2**31 - 1, -(2**31) + 5000, *(RANDOM.randrange(-(2**31), 2**31) for _ in range(300))]
LONGS = [0, -1, 2**63 - 1, -(2**63) + 5000, *(RANDOM.randrange(-(2**62), 2**62) for _ in range(300))]
DAYS = [0, -1, -141_428, 17_486, -719_162, 2_932_896, *(RANDOM.randrange(-400_000, 400_000) for _ in range(300))]
MICROS = [0, -1, 1_510_871_468_000_001, -(2**55), *(RANDOM.randrange(-(2**56), 2**56) for _ in range(300))]
DECIMALS = [
    Decimal(n).scaleb(-2) for n in (0, 1, -1, 127, 128, -128, -129, 1420, 10**9 - 1, -(10**9) + 1000, *range(-70, 70))
]
# A decimal is hashed as the fewest bytes that hold it: those at which one more is needed are among these.
BYTE_EDGES = [sign * (1 << bits) + off for bits in range(126) for sign in (1, -1) for off in (-1, 0)]
WIDE = [
    Decimal(n).scaleb(-4)
    for n in (*BYTE_EDGES, 10**37, -(10**37), *(RANDOM.randrange(-(10**30), 10**30) for _ in range(200)))
]
TEXTS = ["", "iceberg", "é", "\U0001f600 smile", "a" * 40, *(str(RANDOM.random()) for _ in range(100))]
BYTES = [b"", b"\x00\x01\x02\x03", *(RANDOM.randbytes(length % 34) for length in range(136)), b"\xff" * 9]
UUIDS = [UUID(int=RANDOM.getrandbits(128)) for _ in range(50)]

VALUES: list[tuple[Type, list[object]]] = [
    (IntegerType(), INTS),
    (LongType(), LONGS),
    (DecimalType(9, 2), DECIMALS),
    (DecimalType(38, 4), WIDE),
    (DateType(), DAYS),
    (TimeType(), [0, 1, 86_399_999_999]),
    (TimestampType(), MICROS),
    (TimestamptzType(), MICROS),
    (TimestampNanoType(), MICROS),
    (TimestamptzNanoType(), [*MICROS, -(2**63), 2**63 - 1]),
    (StringType(), TEXTS),
    (BinaryType(), BYTES),
    (FixedType(5), [RANDOM.randbytes(5) for _ in range(50)]),
    (UuidType(), UUIDS),
    (BooleanType(), [True, False]),
    (DoubleType(), [0.5, -1.0, float("inf")]),
]
TRANSFORMS = ["identity", "bucket[16]", "bucket[1]", "truncate[10]", "truncate[1]", "year", "month", "day", "hour"]
CASES = [
    pytest.param(transform, type, values, id=f"{transform}-{type}")
    for transform in map(parse_transform, TRANSFORMS)
    for type, values in VALUES
    if transform.can_transform(type)
]


def column(type: Type, values: list[object]) -> pa.Array:
    arrow = type_to_arrow(type)
    values = [value.bytes if isinstance(value, UUID) else value for value in values]
    if pa.types.is_date32(arrow):
        return pa.array(values, pa.int32()).cast(arrow)
    return pa.array(values, pa.int64()).cast(arrow) if pa.types.is_temporal(arrow) else pa.array(values, arrow)


def partitions(
    schema: Schema, spec: PartitionSpec, batch: pa.RecordBatch
) -> list[tuple[tuple[object, ...], list[int]]]:
    """Partitions in the order of their first row, with the values of the batch's first column."""
    found: dict[tuple[object, ...], list[int]] = {}
    for key, part in Partitioner(schema, spec).split(batch):
        found.setdefault(key, []).extend(part.column(0).to_pylist())
    return sorted(found.items(), key=lambda item: item[1])


@pytest.mark.parametrize(("transform", "type", "values"), CASES)
def test_columns_are_transformed_as_single_values_are(transform: Transform, type: Type, values: list[object]) -> None:
    mixed = [None, *values, None]
    result = transform_column(transform, type, column(type, mixed)).to_pylist()
    expected = [transform.apply(type, value) for value in mixed]
    if isinstance(type, UuidType) and str(transform) == "identity":
        result = [None if value is None else UUID(bytes=value) for value in result]
    assert result == expected


def test_buckets_of_the_specs_values() -> None:
    """Spec: Appendix B, 32-bit Hash Requirements. Bucket x of 2**31 - 1 is hash x without its sign bit."""
    transform = parse_transform(f"bucket[{2**31 - 1}]")
    specified: list[tuple[Type, object, int]] = [
        (IntegerType(), 34, 2_017_239_379),
        (LongType(), 34, 2_017_239_379),
        (DecimalType(9, 2), Decimal("14.20"), -500_754_589),
        (DateType(), 17_486, -653_330_422),
        (TimeType(), 81_068_000_000, -662_762_989),
        (TimestampType(), 1_510_871_468_000_000, -2_047_944_441),
        (TimestampType(), 1_510_871_468_000_001, -1_207_196_810),
        (TimestampNanoType(), 1_510_871_468_000_001_001, -1_207_196_810),
        (StringType(), "iceberg", 1_210_000_089),
        (UuidType(), UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7"), 1_488_055_340),
        (FixedType(4), b"\x00\x01\x02\x03", -188_683_207),
        (BinaryType(), b"\x00\x01\x02\x03", -188_683_207),
    ]
    for type, value, hash in specified:
        (bucket,) = transform_column(transform, type, column(type, [value])).to_pylist()
        assert bucket == hash & 0x7FFFFFFF, f"{type} {value}"


@pytest.mark.parametrize(("transform", "type", "values"), CASES)
def test_a_slice_is_transformed_from_its_own_rows(transform: Transform, type: Type, values: list[object]) -> None:
    whole = column(type, [None, *values, None])
    sliced = transform_column(transform, type, whole.slice(2, 5)).to_pylist()
    assert sliced == transform_column(transform, type, whole).to_pylist()[2:7]


PYICEBERG = {
    "int": pyiceberg_types.IntegerType(),
    "long": pyiceberg_types.LongType(),
    "decimal(9,2)": pyiceberg_types.DecimalType(9, 2),
    "date": pyiceberg_types.DateType(),
    "timestamp": pyiceberg_types.TimestampType(),
    "timestamptz": pyiceberg_types.TimestamptzType(),
    "string": pyiceberg_types.StringType(),
    "binary": pyiceberg_types.BinaryType(),
}


@pytest.mark.parametrize(("transform", "type", "values"), [case for case in CASES if str(case.values[1]) in PYICEBERG])
def test_columns_are_transformed_as_pyiceberg_does(transform: Transform, type: Type, values: list[object]) -> None:
    function = pyiceberg_transforms.parse_transform(str(transform)).transform(PYICEBERG[str(type)])
    in_python_calendar = [v for v in values if not isinstance(type, DateType) or abs(v) < 700_000]
    if "timestamp" in str(type):
        in_python_calendar = [v for v in values if abs(v) < 2**54]
    result = transform_column(transform, type, column(type, in_python_calendar)).to_pylist()
    assert result == [function(value) for value in in_python_calendar]


SCHEMA = Schema(
    (
        NestedField(1, "n", IntegerType()),
        NestedField(2, "day", DateType()),
        NestedField(
            3, "s", StructType((NestedField(4, "city.name", StringType()), NestedField(5, "code", LongType())))
        ),
    )
)


def rows(days: list[int | None]) -> pa.RecordBatch:
    count = len(days)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(range(count), pa.int32()),
            pa.array(days, pa.int32()).cast(pa.date32()),
            pa.array([None if i == 1 else {"city.name": f"c{i % 2}", "code": i} for i in range(count)]),
        ],
        names=["n", "day", "s"],
    )


DAY = PartitionSpec(0, (PartitionField(2, 1000, "day", parse_transform("identity")),))


def test_rows_keep_their_order_within_a_partition() -> None:
    found = partitions(SCHEMA, DAY, rows([5, None, 5, 7, None, 5, 7, 5]))
    assert found == [((5,), [0, 2, 5, 7]), ((None,), [1, 4]), ((7,), [3, 6])]


def test_sorted_rows_are_split_by_runs() -> None:
    assert partitions(SCHEMA, DAY, rows([1, 1, 2, 3, 3])) == [((1,), [0, 1]), ((2,), [2]), ((3,), [3, 4])]


def test_a_batch_without_rows_has_no_partition() -> None:
    assert partitions(SCHEMA, DAY, rows([])) == []


def test_a_few_rows_do_not_keep_the_batch_in_memory() -> None:
    batch = rows([1] * 9_999 + [2])
    small = dict(Partitioner(SCHEMA, DAY).split(batch))[(2,)]
    assert small.column(0).buffers()[1].size < 1_000


def test_fields_in_structs_and_void_fields() -> None:
    spec = PartitionSpec(
        3,
        (
            PartitionField(4, 1000, "city", parse_transform("identity")),
            PartitionField(2, 1001, "gone", parse_transform("void")),
            PartitionField(5, 1002, "code", parse_transform("truncate[4]")),
        ),
    )
    found = partitions(SCHEMA, spec, rows([1, 2, 3, 4, 5, 6]))
    assert found == [
        (("c0", None, 0), [0, 2]),
        ((None, None, None), [1]),
        (("c1", None, 0), [3]),
        (("c0", None, 4), [4]),
        (("c1", None, 4), [5]),
    ]


def test_many_fields_with_many_values_do_not_mix() -> None:
    schema = Schema(tuple(NestedField(i, f"c{i}", LongType()) for i in range(1, 7)))
    generator = np.random.default_rng(3)
    data = [generator.permutation(5_000) for _ in range(6)]
    spec = PartitionSpec(
        0, tuple(PartitionField(i, 999 + i, f"c{i}", parse_transform("identity")) for i in range(1, 7))
    )
    batch = pa.RecordBatch.from_arrays([pa.array(c) for c in data], names=[f.name for f in schema.fields])
    found = {key for key, _ in Partitioner(schema, spec).split(batch)}
    assert found == set(zip(*(c.tolist() for c in data), strict=True))


def test_an_unknown_transform_is_refused() -> None:
    spec = PartitionSpec(0, (PartitionField(1, 1000, "z", UnknownTransform("zorder[4]")),))
    with pytest.raises(UnsupportedError, match="zorder"):
        Partitioner(SCHEMA, spec)


@pytest.mark.parametrize("transform", ["bucket[2147483648]", "truncate[2147483648]"])
def test_a_number_that_iceberg_does_not_read_is_refused(transform: str) -> None:
    spec = PartitionSpec(0, (PartitionField(1, 1000, "p", parse_transform(transform)),))
    with pytest.raises(UnsupportedError, match="2147483648"):
        Partitioner(SCHEMA, spec)


def test_a_decimal_that_rounds_down_beyond_its_type_is_refused() -> None:
    schema = Schema((NestedField(1, "price", DecimalType(9, 2)),))
    spec = PartitionSpec(0, (PartitionField(1, 1000, "price_trunc", parse_transform("truncate[50]")),))
    batch = pa.record_batch(
        {"price": pa.array([Decimal("-9999999.99"), None, Decimal("9999999.99")], pa.decimal128(9, 2))}
    )
    with pytest.raises(DataError) as error:
        list(Partitioner(schema, spec).split(batch))
    assert error.value.condition == "PARTITION_VALUE_OUT_OF_RANGE"
    assert "price_trunc = -10000000.00" in str(error.value)
    (kept,) = (key for key, _ in Partitioner(schema, spec).split(batch.slice(2)))
    assert kept == (Decimal("9999999.50"),)
    bucketed = PartitionSpec(0, (PartitionField(1, 1000, "price_bucket", parse_transform("bucket[4]")),))
    assert {type(key[0]) for key, _ in Partitioner(schema, bucketed).split(batch)} == {int, type(None)}


@pytest.mark.parametrize("transform", [BucketTransform(4), TruncateTransform(10)])
def test_decimals_of_a_message_are_aligned_to_eight_bytes(transform: Transform) -> None:
    """The library panics at decimals that do not lie at a multiple of 16 bytes."""
    column = pa.array([Decimal("1.23"), Decimal("-4.56"), None], pa.decimal128(10, 2))
    nulls, values = column.buffers()
    memory = pa.allocate_buffer(values.size + 24)
    start = -memory.address % 16 + 8
    memoryview(memory).cast("B")[start : start + values.size] = values.to_pybytes()
    moved = pa.Array.from_buffers(column.type, 3, [nulls, memory.slice(start, values.size)])
    assert moved.buffers()[1].address % 16 == 8
    assert transform_column(transform, DecimalType(10, 2), moved) == transform_column(
        transform, DecimalType(10, 2), column
    )
