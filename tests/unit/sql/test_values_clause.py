from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from sqlext.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    Type,
)
from sqlext.sql.values_clause import literal_columns

PAIR = (NestedField(1, "a", LongType()), NestedField(2, "b", StringType()))


def values(type: Type, text: str, *, required: bool = False) -> list[Any] | None:
    columns = literal_columns(f"VALUES ({text})", [NestedField(1, "a", type, required=required)])
    return None if columns is None else columns[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("VALUES (1, 'x')", [[1], ["x"]]),
        ("values\n( 1 ,'x' ) ,\t(-2, null)", [[1, -2], ["x", None]]),
        ("VALUES (1, 'a, (b); -- c')", [[1], ["a, (b); -- c"]]),
        ("VALUES (1, 'grüße\n')", [[1], ["grüße\n"]]),
        ("VALUES (1, '')", [[1], [""]]),
    ],
)
def test_rows_of_literals_become_columns(text: str, expected: list[list[Any]]) -> None:
    assert literal_columns(text, PAIR) == expected


@pytest.mark.parametrize(
    "text",
    [
        "VALUES (1, 'it''s')",
        "VALUES (1, 'a' 'b')",
        "VALUES (1, 'tab\\t')",
        "VALUES (1, '${name}')",
        "VALUES (1, r'x')",
        'VALUES (1, "x")',
        "VALUES (1L, 'x')",
        "VALUES (1e2, 'x')",
        "VALUES (1 + 1, 'x')",
        "VALUES (1, upper('x'))",
        "VALUES (1, 'x') AS t(a, b)",
        "VALUES (1, 'x'), (2)",
        "VALUES (1)",
        "VALUES (1, 'x', 3)",
        "VALUES 1, 'x'",
        "VALUES (1, 'x'), 2",
        "VALUES (1, nullif)",
        "VALUES (1, NULL /* none */)",
        "VALUES (1, 'x'",
        "VALUES ()",
        "SELECT 1, 'x'",
        "VALUES (١, 'x')",
        "",
    ],
)
def test_all_else_is_left_to_spark(text: str) -> None:
    assert literal_columns(text, PAIR) is None


@pytest.mark.parametrize(
    ("type", "text", "expected"),
    [
        (IntegerType(), "-2147483648", -(2**31)),
        (LongType(), "9223372036854775807", 2**63 - 1),
        (LongType(), "-0", 0),
        (BooleanType(), "True", True),
        (BooleanType(), "false", False),
        (DateType(), "DATE '2024-02-29'", date(2024, 2, 29)),
        (DateType(), "date'0001-01-01'", date(1, 1, 1)),
        (DoubleType(), "9007199254740993", 9007199254740992.0),
        (DoubleType(), "-0.10", -0.1),
        (DecimalType(10, 2), "12345678.90", Decimal("12345678.90")),
        (DecimalType(10, 2), "-7", Decimal(-7)),
        (DecimalType(38, 30), "1234567.25", Decimal("1234567.25")),
        (DecimalType(2, 2), "0.25", Decimal("0.25")),
    ],
)
def test_a_literal_is_the_value_that_its_column_holds(type: Type, text: str, expected: Any) -> None:
    assert values(type, text) == [expected]


def test_a_decimal_has_no_negative_zero() -> None:
    assert str(values(DoubleType(), "-0.0")) == "[0.0]"


@pytest.mark.parametrize(
    ("type", "text"),
    [
        (IntegerType(), "2147483648"),
        (LongType(), "9223372036854775808"),
        (LongType(), "1.0"),
        (LongType(), "'1'"),
        (LongType(), "true"),
        (BooleanType(), "1"),
        (BooleanType(), "'true'"),
        (StringType(), "1"),
        (StringType(), "DATE '2024-01-01'"),
        (DateType(), "'2024-01-01'"),
        (DateType(), "DATE '2023-02-29'"),
        (DateType(), "DATE '0000-01-01'"),
        (DateType(), "DATE '2024-1-1'"),
        (DecimalType(10, 2), "123456789.0"),
        (DecimalType(10, 2), "1.005"),
        (DecimalType(10, 2), "100000000"),
        (DoubleType(), "0.1234567890123456"),
        (DoubleType(), "9223372036854775808"),
        (FloatType(), "0.1"),
        (BinaryType(), "X'00'"),
        (TimestampType(), "TIMESTAMP '2024-01-01 00:00:00'"),
        (TimestampType(), "NULL"),
    ],
)
def test_a_literal_that_its_column_does_not_hold_as_it_is_goes_to_spark(type: Type, text: str) -> None:
    assert values(type, text) is None


def test_a_null_for_a_required_column_is_refused_by_spark() -> None:
    assert values(LongType(), "NULL") == [None]
    assert values(LongType(), "NULL", required=True) is None
