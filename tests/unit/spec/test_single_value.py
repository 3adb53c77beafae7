from __future__ import annotations

import math
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg import conversions
from pyiceberg import types as pyiceberg_types

from sqlext.spec import single_value
from sqlext.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzType,
    TimeType,
    Type,
    UuidType,
    VariantType,
)

SAMPLES: list[tuple[Type, Any, Any]] = [
    (BooleanType(), True, True),
    (IntegerType(), -34, -34),
    (LongType(), 2**40, 2**40),
    (FloatType(), 1.0, 1.0),
    (DoubleType(), -2.5, -2.5),
    (DecimalType(9, 2), Decimal("14.20"), "14.20"),
    (
        DecimalType(38, 10),
        Decimal("-1234567890123456789012345678.0123456789"),
        "-1234567890123456789012345678.0123456789",
    ),
    (DateType(), 17486, "2017-11-16"),
    (TimeType(), 81_068_123_456, "22:31:08.123456"),
    (TimestampType(), 1510871468123456, "2017-11-16T22:31:08.123456"),
    (TimestamptzType(), 1510871468123456, "2017-11-16T22:31:08.123456+00:00"),
    (TimestampNanoType(), 1510871468123456789, "2017-11-16T22:31:08.123456789"),
    (StringType(), "iceberg ☃", "iceberg ☃"),
    (UuidType(), UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7"), "f79c3e09-677c-4bbd-a479-3f349cb785e7"),
    (FixedType(4), b"\x00\x01\x02\xff", "000102FF"),
    (BinaryType(), b"\x00\x01\x02\xff", "000102FF"),
]


@pytest.mark.parametrize(("type", "value", "json_value"), SAMPLES)
def test_json_form_is_the_specs(type: Type, value: Any, json_value: Any) -> None:
    assert single_value.to_json(type, value) == json_value
    assert single_value.from_json(type, json_value) == value


@pytest.mark.parametrize(("type", "value", "json_value"), SAMPLES)
def test_binary_form_round_trips(type: Type, value: Any, json_value: Any) -> None:
    assert single_value.decode(type, single_value.encode(type, value)) == value


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**13), max_value=10**13))
def test_decimal_bytes_agree_with_pyiceberg(value: Decimal) -> None:
    theirs = conversions.to_bytes(pyiceberg_types.DecimalType(18, 4), value)
    assert single_value.encode(DecimalType(18, 4), value) == theirs


@given(st.integers(-(2**63), 2**63 - 1))
def test_minimal_bytes_are_minimal(value: int) -> None:
    data = single_value.minimal_bytes(value)
    assert int.from_bytes(data, "big", signed=True) == value
    with pytest.raises(OverflowError):
        value.to_bytes(len(data) - 1, "big", signed=True) if len(data) > 1 else (128).to_bytes(1, "big", signed=True)


def test_values_written_before_a_promotion_are_read() -> None:
    assert single_value.decode(LongType(), b"\x07\x00\x00\x00") == 7
    assert single_value.decode(DoubleType(), single_value.encode(FloatType(), 0.5)) == 0.5
    assert single_value.decode(TimestampType(), single_value.encode(DateType(), 1)) == 86_400_000_000


def test_signed_zero_and_nan_survive() -> None:
    assert math.copysign(1, single_value.decode(DoubleType(), single_value.encode(DoubleType(), -0.0))) == -1
    assert math.isnan(single_value.decode(FloatType(), single_value.encode(FloatType(), math.nan)))


@pytest.mark.parametrize(
    ("type", "data"), [(IntegerType(), b"\x01"), (LongType(), b"123"), (BooleanType(), b""), (UuidType(), b"1")]
)
def test_bytes_of_the_wrong_length_are_refused(type: Type, data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        single_value.decode(type, data)


@pytest.mark.parametrize(
    ("type", "value"),
    [(IntegerType(), 2**31), (IntegerType(), "1"), (DecimalType(9, 2), Decimal("1.234")), (VariantType(), b"")],
)
def test_values_the_type_does_not_hold_are_refused(type: Type, value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        single_value.encode(type, value)


@pytest.mark.parametrize(
    ("type", "value"), [(IntegerType(), True), (StringType(), 1), (DateType(), 3), (UuidType(), 7)]
)
def test_json_of_another_type_is_refused(type: Type, value: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        single_value.from_json(type, value)


def test_nested_json_follows_field_ids() -> None:
    struct = StructType((NestedField(1, "a", IntegerType()), NestedField(2, "b", StringType())))
    assert single_value.to_json(struct, (1, None)) == {"1": 1, "2": None}
    assert single_value.from_json(struct, {"1": 1}) == (1, None)
    items = ListType(3, DateType(), False)
    assert single_value.from_json(items, single_value.to_json(items, (0, None))) == (0, None)
    pairs = MapType(4, StringType(), 5, IntegerType(), False)
    assert single_value.to_json(pairs, (("k", 1),)) == {"keys": ["k"], "values": [1]}
    assert single_value.from_json(pairs, {"keys": ["k"], "values": [1]}) == (("k", 1),)
