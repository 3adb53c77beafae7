from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from sqlext.spec.partition_folder import folder_values, stored_value
from sqlext.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
    Type,
)


def test_folders() -> None:
    path = "year=2024/plain/name=a%2Fb%3D%20c=d/none=__HIVE_DEFAULT_PARTITION__/file=1.parquet"
    assert folder_values(path) == {"year": "2024", "name": "a/b= c=d", "none": None}
    assert folder_values("file.parquet") == {}


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (IntegerType(), "-007", -7),
        (StringType(), "07 ž", "07 ž"),
        (BooleanType(), "True", True),
        (DoubleType(), "1e3", 1000.0),
        (DecimalType(9, 2), "-1.5", Decimal("-1.50")),
        (DateType(), "1969-12-31", -1),
        (TimestampType(), "1970-01-01 00:00:01.5", 1_500_000),
        (TimestamptzType(), "1970-01-01T01:00:00+01:00", 0),
        (LongType(), None, None),
    ],
)
def test_values(type_: Type, text: str | None, value: Any) -> None:
    assert stored_value(type_, text) == value


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (IntegerType(), "2147483648"),
        (IntegerType(), "1.0"),
        (BooleanType(), "yes"),
        (DecimalType(9, 2), "1.555"),
        (DecimalType(9, 2), "one"),
        (DateType(), "2023-02-29"),
        # A folder does not have the time zone of a local time.
        (TimestamptzType(), "2024-01-01 00:00:00"),
        (BinaryType(), "00"),
    ],
)
def test_texts_that_are_no_values(type_: Type, text: str) -> None:
    with pytest.raises((ValueError, OverflowError)):
        stored_value(type_, text)
