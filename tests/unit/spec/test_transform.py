from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg import transforms as pyiceberg_transforms
from pyiceberg import types as pyiceberg_types

from sqlext.spec.iso_date_time import parse_date, parse_time, parse_timestamp, parse_timestamptz
from sqlext.spec.transform import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    UnknownTransform,
    VoidTransform,
    YearTransform,
    bucket_hash,
    parse_transform,
)
from sqlext.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    IntegerType,
    LongType,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    Type,
    UuidType,
)

MICROS, NANOS = 1_000_000, 1_000_000_000


@pytest.mark.parametrize(
    ("type", "value", "hash"),
    [
        (IntegerType(), 34, 2017239379),
        (LongType(), 34, 2017239379),
        (DecimalType(9, 2), Decimal("14.20"), -500754589),
        (DateType(), parse_date("2017-11-16"), -653330422),
        (TimeType(), parse_time("22:31:08", MICROS), -662762989),
        (TimestampType(), parse_timestamp("2017-11-16T22:31:08", MICROS), -2047944441),
        (TimestampType(), parse_timestamp("2017-11-16T22:31:08.000001", MICROS), -1207196810),
        (TimestamptzType(), parse_timestamptz("2017-11-16T14:31:08-08:00", MICROS), -2047944441),
        (TimestampNanoType(), parse_timestamp("2017-11-16T22:31:08", NANOS), -2047944441),
        (TimestampNanoType(), parse_timestamp("2017-11-16T22:31:08.000001001", NANOS), -1207196810),
        (TimestamptzNanoType(), parse_timestamptz("2017-11-16T14:31:08.000001001-08:00", NANOS), -1207196810),
        (StringType(), "iceberg", 1210000089),
        (UuidType(), UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7"), 1488055340),
        (FixedType(4), b"\x00\x01\x02\x03", -188683207),
        (BinaryType(), b"\x00\x01\x02\x03", -188683207),
    ],
)
def test_hashes_of_appendix_b(type: Type, value: Any, hash: int) -> None:
    assert bucket_hash(type, value) == hash


@given(st.integers(-(2**31), 2**31 - 1), st.integers(1, 1000))
def test_integers_agree_with_pyiceberg(value: int, width: int) -> None:
    theirs = pyiceberg_types.IntegerType()
    bucket = pyiceberg_transforms.BucketTransform(width).transform(theirs)
    assert BucketTransform(width).apply(IntegerType(), value) == bucket(value)
    if value - value % width >= -(2**31):
        truncate = pyiceberg_transforms.TruncateTransform(width).transform(theirs)
        assert TruncateTransform(width).apply(IntegerType(), value) == truncate(value)


@given(st.text(), st.integers(1, 20))
def test_strings_agree_with_pyiceberg(value: str, width: int) -> None:
    theirs = pyiceberg_types.StringType()
    assert BucketTransform(width).apply(StringType(), value) == pyiceberg_transforms.BucketTransform(width).transform(
        theirs
    )(value)
    assert TruncateTransform(width).apply(StringType(), value) == value[:width]


@given(st.decimals(places=2, min_value=-99999, max_value=99999), st.integers(1, 100))
def test_decimals_agree_with_pyiceberg(value: Decimal, width: int) -> None:
    theirs = pyiceberg_types.DecimalType(9, 2)
    assert TruncateTransform(width).apply(DecimalType(9, 2), value) == pyiceberg_transforms.TruncateTransform(
        width
    ).transform(theirs)(value)
    assert BucketTransform(width).apply(DecimalType(9, 2), value) == pyiceberg_transforms.BucketTransform(
        width
    ).transform(theirs)(value)


@given(st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999))
def test_time_transforms_agree_with_pyiceberg(micros: int) -> None:
    theirs = pyiceberg_types.TimestampType()
    for ours, oracle in (
        (YearTransform(), pyiceberg_transforms.YearTransform()),
        (MonthTransform(), pyiceberg_transforms.MonthTransform()),
        (DayTransform(), pyiceberg_transforms.DayTransform()),
        (HourTransform(), pyiceberg_transforms.HourTransform()),
    ):
        expected = oracle.transform(theirs)(micros)
        assert ours.apply(TimestampType(), micros) == expected
        assert ours.apply(TimestampNanoType(), micros * 1000) == expected


def test_before_the_epoch_rounds_down() -> None:
    assert DayTransform().apply(TimestampType(), -1) == -1
    assert MonthTransform().apply(DateType(), -1) == -1
    assert YearTransform().apply(DateType(), -1) == -1
    assert TruncateTransform(10).apply(IntegerType(), -1) == -10


def test_truncation_wraps_as_icebergs_does() -> None:
    assert TruncateTransform(10).apply(IntegerType(), -(2**31)) == 2147483646


def test_truncation_counts_code_points() -> None:
    assert TruncateTransform(2).apply(StringType(), "\U0001f40e\U0001f40e\U0001f40e") == "\U0001f40e\U0001f40e"


@pytest.mark.parametrize("text", ["identity", "bucket[16]", "truncate[4]", "year", "month", "day", "hour", "void"])
def test_spelling_round_trips(text: str) -> None:
    transform = parse_transform(text)
    assert str(transform) == text
    assert transform.apply(TimestampType(), None) is None
    assert transform.human(TimestampType(), None) == "null"


@pytest.mark.parametrize("text", ["zorder[3]", "bucket[0]", "bucket", "truncate[-1]"])
def test_what_is_not_known_is_kept(text: str) -> None:
    transform = parse_transform(text)
    assert transform == UnknownTransform(text)
    assert str(transform) == text
    with pytest.raises(ValueError, match="not defined"):
        transform.apply(StringType(), "a")


@pytest.mark.parametrize(
    ("transform", "type", "value", "text"),
    [
        (YearTransform(), DateType(), 47, "2017"),
        (MonthTransform(), DateType(), 575, "2017-12"),
        (DayTransform(), TimestampType(), 17501, "2017-12-01"),
        (HourTransform(), TimestampType(), 420034, "2017-12-01-10"),
        (IdentityTransform(), BooleanType(), True, "true"),
        (IdentityTransform(), TimestampType(), 1512123175038194, "2017-12-01T10:12:55.038194"),
        (IdentityTransform(), TimestamptzType(), 1512123175038194, "2017-12-01T10:12:55.038194+00:00"),
        (IdentityTransform(), BinaryType(), b"\x01\x02\x03", "AQID"),
        (IdentityTransform(), DecimalType(9, 2), Decimal("-1.50"), "-1.50"),
        (TruncateTransform(3), StringType(), "abc", "abc"),
        (BucketTransform(4), StringType(), 3, "3"),
    ],
)
def test_human_text(transform: Any, type: Type, value: Any, text: str) -> None:
    assert transform.human(type, value) == text


def test_result_types() -> None:
    assert DayTransform().result_type(TimestampType()) == DateType()
    assert BucketTransform(3).result_type(StringType()) == IntegerType()
    assert TruncateTransform(3).result_type(StringType()) == StringType()
    assert VoidTransform().result_type(DoubleType()) == DoubleType()


def test_which_types_a_transform_takes() -> None:
    assert not BucketTransform(3).can_transform(DoubleType())
    assert not HourTransform().can_transform(DateType())
    assert not TruncateTransform(3).can_transform(DateType())
    assert DayTransform().can_transform(DateType())
    with pytest.raises(ValueError, match="hour is not defined for type date"):
        HourTransform().apply(DateType(), 1)
