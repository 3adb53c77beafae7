"""Keys that a program gives, by their types, and the condition of SQL on them."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from sqlext.errors import DataError, UnsupportedError
from sqlext.given_keys import KeyColumn, condition, distinct_keys

_UUID = UUID("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")
_HOUR_EAST = timezone(timedelta(hours=1))
_TAKEN: list[tuple[str, Any, Any, str]] = [
    ("INT", 5, 5, "5"),
    ("INT", -(2**31), -(2**31), "-2147483648"),
    ("INT", np.int64(7), 7, "7"),
    ("BIGINT", 2**63 - 1, 2**63 - 1, "9223372036854775807L"),
    ("BOOLEAN", True, True, "true"),
    ("DECIMAL(9, 2)", Decimal("3.5"), Decimal("3.50"), "CAST('3.50' AS DECIMAL(9, 2))"),
    ("DECIMAL(9,2)", 3, Decimal("3.00"), "CAST('3.00' AS DECIMAL(9,2))"),
    ("DECIMAL(9,2)", Decimal("1E+3"), Decimal("1000.00"), "CAST('1000.00' AS DECIMAL(9,2))"),
    ("DECIMAL(9,2)", Decimal("-0.000"), Decimal("0.00"), "CAST('0.00' AS DECIMAL(9,2))"),
    ("DECIMAL(38,0)", Decimal("9" * 38), Decimal("9" * 38), f"CAST('{'9' * 38}' AS DECIMAL(38,0))"),
    ("STRING", "Ada", "Ada", "'Ada'"),
    ("STRING", "é", "é", "'é'"),
    ("STRING", "a'b", "a'b", "CAST(X'612762' AS STRING)"),
    ("STRING", "a\\nb", "a\\nb", "CAST(X'615c6e62' AS STRING)"),
    ("STRING", "${x}", "${x}", "CAST(X'247b787d' AS STRING)"),
    ("STRING", "", "", "''"),
    ("VARCHAR(3)", "Ada", "Ada", "'Ada'"),
    ("UUID", _UUID, _UUID, f"'{_UUID}'"),
    ("UUID", str(_UUID).upper(), _UUID, f"'{_UUID}'"),
    ("BINARY", bytearray(b"\x00\xff"), b"\x00\xff", "X'00ff'"),
    ("BINARY(2)", b"ab", b"ab", "X'6162'"),
    ("DATE", date(1, 2, 3), date(1, 2, 3), "DATE '0001-02-03'"),
    ("TIMESTAMP_NTZ", datetime(2024, 1, 31), datetime(2024, 1, 31), "TIMESTAMP_NTZ '2024-01-31 00:00:00.000000'"),
    (
        "TIMESTAMP_LTZ",
        datetime(2024, 1, 31, tzinfo=_HOUR_EAST),
        datetime(2024, 1, 30, 23, tzinfo=timezone.utc),
        "TIMESTAMP_LTZ '2024-01-30 23:00:00.000000Z'",
    ),
]
_REFUSED: list[tuple[str, Any, str]] = [
    ("INT", 2**31, "has 32 bits"),
    ("BIGINT", -(2**63) - 1, "has 64 bits"),
    ("INT", "5", "no value of id, which is INT"),
    ("INT", 5.0, "no value of id"),
    ("INT", True, "no value of id"),
    ("INT", None, "holds no null"),
    ("STRING", 5, "no value of id"),
    ("STRING", "\ud800", "no Unicode text"),
    ("DECIMAL(9,2)", Decimal("3.495"), "no value of id"),
    ("DECIMAL(9,2)", Decimal("10000000"), "no value of id"),
    ("DECIMAL(9,2)", Decimal("NaN"), "no value of id"),
    ("DECIMAL(9,2)", 3.5, "no value of id"),
    ("UUID", "f81d4fae", "no value of id"),
    ("UUID", 5, "no value of id"),
    ("BINARY", "ab", "no value of id"),
    ("BINARY(2)", b"abc", "no value of id"),
    ("DATE", datetime(2024, 1, 31), "no value of id"),
    ("DATE", "2024-01-31", "no value of id"),
    ("TIMESTAMP_NTZ", datetime(2024, 1, 31, tzinfo=timezone.utc), "has no time zone"),
    ("TIMESTAMP_LTZ", date(2024, 1, 31), "no value of id"),
    ("BOOLEAN", 1, "no value of id"),
    ("BIGINT", (1, 2), "it is not a value of id"),
    ("BIGINT", {"other": 1}, "it is not a value of id"),
]


@pytest.mark.parametrize(("type", "given", "value", "text"), _TAKEN)
def test_a_value_of_the_type_is_taken(type: str, given: Any, value: Any, text: str) -> None:
    column = KeyColumn(("id",), type)
    for one in (given, (given,), {"ID": given}):
        (found,) = distinct_keys([column], [one], "t")
        assert (repr(found), condition([column], [found])) == (repr((value,)), f"`id` = {text}")


@pytest.mark.parametrize(("type", "given", "told"), _REFUSED)
def test_another_value_is_refused(type: str, given: Any, told: str) -> None:
    with pytest.raises(DataError, match="LOOKUP_KEY_REFUSED") as refused:
        distinct_keys([KeyColumn(("id",), type)], [given], "t")
    assert told in str(refused.value)


def test_a_time_without_a_zone_is_that_of_the_process() -> None:
    local = datetime(2024, 1, 31, 12)
    (found,) = distinct_keys([KeyColumn(("id",), "TIMESTAMP_LTZ")], [local], "t")
    assert found[0].tzinfo is timezone.utc
    assert found[0].timestamp() == local.timestamp()


def test_keys_of_several_columns() -> None:
    columns = [KeyColumn(("s", "a b"), "INT"), KeyColumn(("select",), "STRING")]
    found = distinct_keys(columns, [(1, "x"), {"SELECT": "y", "s.a b": 2}, (1, "x")], "t")
    assert found == [(1, "x"), (2, "y")]
    assert condition(columns, found[:1]) == "`s`.`a b` = 1 AND `select` = 'x'"
    assert condition(columns, found) == (
        "`s`.`a b` IN (1, 2) AND `select` IN ('x', 'y') AND (`s`.`a b`, `select`) IN ((1, 'x'), (2, 'y'))"
    )
    assert condition(columns, []) == "false"
    for wrong in (1, (1,), (1, "x", 2), {"s.a b": 1}, {"s.a b": 1, "select": "x", "more": 2}, [1, "x"], "1x"):
        with pytest.raises(DataError, match=r"a tuple or mapping with a value for each of s\.a b, select"):
            distinct_keys(columns, [wrong], "t")


def test_names_that_differ_in_case_are_told_apart() -> None:
    columns = [KeyColumn(("a",), "INT"), KeyColumn(("A",), "INT")]
    assert distinct_keys(columns, [{"A": 2, "a": 1}], "t") == [(1, 2)]


@pytest.mark.parametrize("keys", ["Ada", b"Ada", {"id": "Ada"}])
def test_one_key_is_no_list_of_keys(keys: Any) -> None:
    with pytest.raises(DataError, match="it is one key, and no list of keys"):
        distinct_keys([KeyColumn(("id",), "STRING")], keys, "t")


def test_a_table_without_a_key_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="LOOKUP_WITHOUT_KEY"):
        distinct_keys([], [], "t")


def test_decimals_are_those_that_a_column_holds_without_rounding() -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    for _ in range(500):
        precision = rng.randint(1, 38)
        scale = rng.randint(0, precision)
        column = KeyColumn(("id",), f"DECIMAL({precision},{scale})")
        value = Decimal((rng.randint(0, 1), tuple(rng.choices(range(10), k=rng.randint(1, 40))), rng.randint(-40, 3)))
        units = Fraction(value) * 10**scale
        if units.denominator == 1 and abs(units) < 10**precision:
            ((found,),) = distinct_keys([column], [value], "t")
            assert (found, found.as_tuple().exponent) == (value, -scale), f"seed {seed}: {value} as {column.type}"
        else:
            with pytest.raises(DataError):
                distinct_keys([column], [value], "t")
