"""Conditions on Arrow: three-valued logic, numbers at the edges of their types, and predicates that prune by them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from sqlext.local.row_condition import row_condition
from sqlext.spec.expression import AlwaysFalse, AlwaysTrue, And, Comparison, In, Or, StartsWith
from sqlext.spec.schema import Schema
from sqlext.spec.types import (
    BooleanType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    StructType,
)
from unit.local.local_lake import refused

_NAN = float("nan")
_SCHEMA = Schema(
    (
        NestedField(1, "i", IntegerType()),
        NestedField(2, "l", LongType()),
        NestedField(3, "d", DoubleType()),
        NestedField(4, "n", DecimalType(5, 2)),
        NestedField(5, "s", StringType()),
        NestedField(6, "b", BooleanType()),
        NestedField(7, "r", StructType((NestedField(8, "x", IntegerType()), NestedField(9, "a.b", StringType())))),
        NestedField(10, "wide", DecimalType(38, 10)),
    )
)
_COLUMNS = {
    1: pa.array([1, -1, None], pa.int32()),
    2: pa.array([3, -(2**63), None], pa.int64()),
    3: pa.array([_NAN, -0.0, None]),
    4: pa.array([Decimal("3.50"), Decimal("-999.99"), None], pa.decimal128(5, 2)),
    5: pa.array(["Ada", "é", None]),
    6: pa.array([True, False, None]),
    7: pa.array(
        [{"x": 1, "a.b": "q"}, {"x": None, "a.b": "r"}, None], pa.struct([("x", pa.int32()), ("a.b", pa.string())])
    ),
    10: pa.array([Decimal("1"), None, None], pa.decimal128(38, 10)),
}


@pytest.mark.parametrize(
    ("condition", "truth"),
    [
        ("i = 1", [True, False, None]),
        ("NOT i = 1", [False, True, None]),
        ("i <=> NULL", [False, False, True]),
        ("i <=> 1", [True, False, False]),
        ("i = 1 OR l = 3 OR NULL", [True, None, None]),
        ("i = 1 AND NULL", [None, False, None]),
        ("i IN (1, NULL)", [True, None, None]),
        ("i NOT IN (7, NULL)", [None, None, None]),
        ("i > 0.5", [True, False, None]),
        ("i < 0.5 OR false", [False, True, None]),
        ("i < 2147483648", [True, True, None]),
        ("i = 0.5", [False, False, None]),
        ("l >= -9223372036854775808", [True, True, None]),
        ("d = d", [True, True, None]),
        ("d > 1e308", [True, False, None]),
        ("d = 0.0D", [False, True, None]),
        ("d < 0", [False, False, None]),
        ("isnan(d)", [True, False, False]),
        ("n = 3.5", [True, False, None]),
        ("n < 3.495", [False, True, None]),
        ("n > -1000", [True, True, None]),
        ("n < 1000000", [True, True, None]),
        ("n > i", [True, False, None]),
        ("s < 'a'", [True, False, None]),
        ("s LIKE 'A%a'", [True, False, None]),
        ("s LIKE 'Ad%da'", [False, False, None]),
        ("s LIKE '%d%'", [True, False, None]),
        ("s NOT LIKE 'A%'", [False, True, None]),
        ("length(s) = 1", [False, True, None]),
        ("b", [True, False, None]),
        ("b IS NOT TRUE", [False, True, True]),
        ("r.x IS NULL", [False, True, True]),
        ("r.`a.b` = 'q'", [True, False, None]),
        ("i % 2 = -1", [False, True, None]),
        ("i + 1 = 2", [True, False, None]),
        ("i * 2 BETWEEN -2 AND 1", [False, True, None]),
        ("I = 1", [True, False, None]),
    ],
)
def test_truth(condition: str, truth: list[Any]) -> None:
    assert row_condition(condition, _SCHEMA).values(_COLUMNS, 3).to_pylist() == truth


@pytest.mark.parametrize(
    ("condition", "exact", "pruning"),
    [
        ("i = 1 AND s LIKE 'A%'", And(Comparison("=", 1, 1), StartsWith(5, "A")), None),
        ("i < 0.5", Comparison("<=", 1, 0), None),
        ("NOT (i > 3 OR l = 2)", And(Comparison("<=", 1, 3), Comparison("!=", 2, 2)), None),
        ("i = 1 AND length(s) = 2", None, Comparison("=", 1, 1)),
        ("i = 1 OR length(s) = 2", None, AlwaysTrue()),
        ("i > 1 AND NULL", None, AlwaysFalse()),
        ("i = 0.5", None, AlwaysFalse()),
        ("NOT i = 0.5 AND l = 2", None, Comparison("=", 2, 2)),
        ("n = 3.5", Comparison("=", 4, Decimal("3.50")), None),
        ("true", AlwaysTrue(), AlwaysTrue()),
    ],
)
def test_predicates(condition: str, exact: Any, pruning: Any) -> None:
    found = row_condition(condition, _SCHEMA)
    assert found.exact == exact
    assert found.pruning == (exact if pruning is None else pruning)
    assert not isinstance(found.exact, In | Or)


@pytest.mark.parametrize(
    "condition",
    [
        "s = 1",
        "i = '1'",
        "wide = 3.50000000005",
        "l < 9223372036854775808",
        "d = 1e400",
        "n = d",
        "s RLIKE 'a'",
        "upper(s) = 'A'",
        "s LIKE 'a_'",
        "s LIKE 'a%b%c'",
        "s = 'a\\\\b'",
        "s = '${x}'",
        "i = (SELECT 1)",
        "1 = 1",
        "r = 1",
        "i % l = 0",
        "i",
        "i = ?",
        "CAST(s AS INT) = 1",
    ],
)
def test_what_only_spark_evaluates_is_refused(condition: str) -> None:
    with refused("LOCAL_NEEDS_SPARK"):
        row_condition(condition, _SCHEMA)


def test_an_overflow_is_no_answer() -> None:
    with refused("LOCAL_NEEDS_SPARK", "overflow"):
        row_condition("l - 1 < 0", _SCHEMA).values(_COLUMNS, 3)
