"""Values that Spark has computed, in the form that partitions and defaults have."""

from __future__ import annotations

import math
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from sqlext.command.stored_values import stored_values
from sqlext.errors import DataError
from sqlext.spec.types import (
    BinaryType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    Type,
    UuidType,
)

MOMENT = datetime(2024, 2, 29, 1, 2, 3, 456789)
MICROS = 1_709_168_523_456_789


@pytest.mark.parametrize(
    ("given", "type", "stored"),
    [
        (pa.array([7], pa.int8()), IntegerType(), 7),
        (pa.array([2**40]), LongType(), 2**40),
        (pa.array(["ü"]), StringType(), "ü"),
        (pa.array([b"\x00\xff"]), BinaryType(), b"\x00\xff"),
        (pa.array([Decimal("-1.20")]), DecimalType(9, 2), Decimal("-1.20")),
        (pa.array([date(1969, 12, 31)]), DateType(), -1),
        (pa.array([MOMENT]), TimestampType(), MICROS),
        (pa.array([MOMENT.replace(tzinfo=timezone.utc)]), TimestamptzType(), MICROS),
        # To Spark a UUID is text; its spelling does not matter.
        (pa.array([str(UUID(int=5)).upper()]), UuidType(), UUID(int=5)),
        (pa.array([None], pa.string()), StringType(), None),
    ],
    ids=lambda value: str(value) if isinstance(value, Type) else "",
)
def test_each_type_as_a_partition_has_it(given: pa.Array, type: Type, stored: Any) -> None:
    assert stored_values([given], [NestedField(3, "c", type)], "lake.db.t") == (stored,)


def test_values_keep_their_places_and_a_required_column_may_be_null() -> None:
    fields = [NestedField(9, "b", LongType(), required=True), NestedField(2, "a.b", DoubleType())]
    null, nan = stored_values([pa.array([None], pa.int64()), pa.array([math.nan])], fields, "lake.db.t")
    assert null is None
    assert math.isnan(nan)


def test_a_text_that_is_no_uuid_is_refused() -> None:
    with pytest.raises(DataError):
        stored_values([pa.array(["no uuid"])], [NestedField(1, "u", UuidType())], "lake.db.t")
