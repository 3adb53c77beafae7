from __future__ import annotations

from decimal import Decimal
from uuid import UUID

import pytest

from sqlext.errors import UnsupportedError
from sqlext.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
    Type,
    UuidType,
)
from sqlext.sql.literal import literal_text


@pytest.mark.parametrize(
    ("type", "value", "text"),
    [
        (BooleanType(), False, "false"),
        (IntegerType(), -5, "CAST('-5' AS INT)"),
        (LongType(), -(2**63), "CAST('-9223372036854775808' AS BIGINT)"),
        (FloatType(), float("-inf"), "CAST('-Infinity' AS FLOAT)"),
        (DecimalType(38, 30), Decimal("1E-30"), "CAST('0.000000000000000000000000000001' AS DECIMAL(38,30))"),
        (DateType(), -1, "DATE '1969-12-31'"),
        (TimestampType(), -1, "TIMESTAMP_NTZ '1969-12-31 23:59:59.999999'"),
        (TimestamptzType(), 0, "TIMESTAMP_LTZ '1970-01-01 00:00:00Z'"),
        (StringType(), "it's \\", r"'it\'s \\'"),
        (UuidType(), UUID(int=1), "'00000000-0000-0000-0000-000000000001'"),
        (BinaryType(), b"\x00\xff", "X'00ff'"),
        (StringType(), None, "NULL"),
    ],
)
def test_values_as_spark_spells_them(type: Type, value: object, text: str) -> None:
    assert literal_text(type, value) == text


def test_nested_values_have_no_literal() -> None:
    with pytest.raises(UnsupportedError):
        literal_text(ListType(1, IntegerType(), False), (1,))
