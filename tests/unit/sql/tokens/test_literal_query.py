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
from sqlext.sql.tokens.literal_query import column_values, literal_query

PAIR = (NestedField(1, "a", LongType()), NestedField(2, "b", StringType()))


def values(type: Type, text: str, *, required: bool = False) -> list[Any] | None:
    query = literal_query(f"SELECT {text} AS a")
    try:
        return None if query is None else column_values(query, 0, NestedField(1, "a", type, required=required))
    except ValueError:
        return None


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
    query = literal_query(text)
    assert query is not None
    assert [column_values(query, number, field) for number, field in enumerate(PAIR)] == expected


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("VALUES (1, 'x', NULL)", ("col1", "col2", "col3")),
        ("SELECT 1 AS id, 'x' as `a name`", ("id", "a name")),
        ("\n select CAST('1' AS BIGINT) AS id , null AS b\n", ("id", "b")),
    ],
)
def test_columns_have_the_names_that_spark_gives_them(text: str, names: tuple[str, ...]) -> None:
    query = literal_query(text)
    assert query is not None
    assert query.names == names


@pytest.mark.parametrize(
    "text",
    [
        "VALUES (1, 'it''s')",
        "VALUES (1, 'a' 'b')",
        "VALUES (1, 'tab\\t')",
        "VALUES (1, '${name}')",
        "VALUES (1, r'x')",
        'VALUES (1, "x")',
        "VALUES (1S, 'x')",
        "VALUES (1LL, 'x')",
        "VALUES (1DB, 'x')",
        "VALUES (1234567890123456789L, 'x')",
        "VALUES (1234567890123456D, 'x')",
        "VALUES (1e2D, 'x')",
        "VALUES (1e2, 'x')",
        "VALUES (1 + 1, 'x')",
        "VALUES (1, upper('x'))",
        "VALUES (1, 'x') AS t(a, b)",
        "VALUES (1, 'x'), (2)",
        "VALUES 1, 'x'",
        "VALUES (1, 'x'), 2",
        "VALUES (1, nullif)",
        "VALUES (1, NULL /* none */)",
        "VALUES (1, 'x'",
        "VALUES ()",
        "SELECT 1, 'x'",
        "SELECT 1 AS a FROM t",
        "SELECT 1 a",
        "SELECT 1 AS a LIMIT 1",
        "SELECT DISTINCT 1 AS a",
        "SELECT a AS b",
        "SELECT CAST(a AS INT) AS a",
        "SELECT CAST('1' AS INT",
        "SELECT CAST(1 AS INT) + 1 AS a",
        "VALUES (١, 'x')",
        "",
    ],
)
def test_all_else_is_left_to_spark(text: str) -> None:
    assert literal_query(text) is None


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
        (LongType(), "-999999999999999999L", 1 - 10**18),
        (IntegerType(), "7l", 7),
        (DoubleType(), "0.5D", 0.5),
        (DoubleType(), "-3d", -3.0),
        (DoubleType(), "1.25BD", 1.25),
        (DecimalType(10, 2), "1.5bd", Decimal("1.5")),
        (LongType(), "CAST('-12' AS bigint)", -12),
        (IntegerType(), "cast( 7 as INT )", 7),
        (DecimalType(12, 2), "CAST('1.5' AS DECIMAL(12, 2))", Decimal("1.5")),
        (DoubleType(), "CAST('1.5' AS decimal(3,1))", 1.5),
        (DoubleType(), "CAST('-2.5' AS double)", -2.5),
        (DateType(), "CAST('1996-01-02' AS date)", date(1996, 1, 2)),
        (StringType(), "CAST(' x ' AS string)", " x "),
        (BooleanType(), "CAST('TRUE' AS boolean)", True),
    ],
)
def test_a_literal_is_the_value_that_its_column_holds(type: Type, text: str, expected: Any) -> None:
    assert values(type, text) == [expected]


def test_a_double_has_a_negative_zero_and_a_decimal_has_none() -> None:
    assert str(values(DoubleType(), "-0.0")) == "[0.0]"
    assert str(values(DoubleType(), "-0.0D")) == "[-0.0]"


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
        (FloatType(), "0.5D"),
        (LongType(), "1D"),
        (DecimalType(10, 2), "1.5D"),
        (DecimalType(38, 0), "9223372036854775808L"),
        (BinaryType(), "X'00'"),
        (TimestampType(), "TIMESTAMP '2024-01-01 00:00:00'"),
        (TimestampType(), "NULL"),
        (LongType(), "CAST('9223372036854775808' AS bigint)"),
        (LongType(), "CAST('3000000000' AS int)"),
        (LongType(), "CAST(' 1' AS bigint)"),
        (LongType(), "CAST('1' AS string)"),
        (LongType(), "CAST('1' AS bigint(1, 0))"),
        (StringType(), "CAST(1 AS string)"),
        (DoubleType(), "CAST(-0 AS double)"),
        (DoubleType(), "CAST('NaN' AS double)"),
        (DecimalType(12, 2), "CAST('1.505' AS decimal(12,2))"),
        (DecimalType(12, 2), "CAST('1.5' AS decimal(12))"),
        (DecimalType(38, 0), "CAST('1' AS decimal(38,0))"),
        (DateType(), "CAST('1996-1-2' AS date)"),
        (BooleanType(), "CAST('yes' AS boolean)"),
    ],
)
def test_a_literal_that_its_column_does_not_hold_as_it_is_goes_to_spark(type: Type, text: str) -> None:
    assert values(type, text) is None


def test_a_null_for_a_required_column_is_refused_by_spark() -> None:
    assert values(LongType(), "NULL") == [None]
    assert values(LongType(), "NULL", required=True) is None
