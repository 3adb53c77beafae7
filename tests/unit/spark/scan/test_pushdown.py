"""Filters as the shim encodes them, to predicates: never stronger than the filter."""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import Any

import pytest

from sqlext.spark.scan.pushdown import predicate_of
from sqlext.spec.expression import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Comparison,
    In,
    InBucket,
    IsNaN,
    IsNull,
    NotNull,
    Or,
    StartsWith,
)
from sqlext.spec.schema import Schema
from sqlext.spec.types import (
    BinaryType,
    DecimalType,
    DoubleType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
)

SCHEMA = Schema(
    (
        NestedField(1, "id", LongType(), required=True),
        NestedField(2, "name", StringType()),
        NestedField(3, "price", DecimalType(9, 2)),
        NestedField(4, "ratio", DoubleType()),
        NestedField(5, "raw", BinaryType()),
        NestedField(6, "point", StructType((NestedField(7, "x", LongType()),))),
        NestedField(8, "point.x", LongType()),
        NestedField(9, "at", TimestampType()),
    )
)


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        (["=", ["id"], 3], Comparison("=", 1, 3)),
        (["is null", ["name"]], IsNull(2)),
        (["not null", ["name"]], NotNull(2)),
        (["starts with", ["name"], "a%"], StartsWith(2, "a%")),
        (["in", ["id"], [1, 2]], In(1, frozenset({1, 2}))),
        (["in", ["id"], []], AlwaysFalse()),
        (["<", ["price"], {"decimal": "1.20"}], Comparison("<", 3, Decimal("1.20"))),
        (["=", ["raw"], {"binary": base64.b64encode(b"\0\xff").decode()}], Comparison("=", 5, b"\0\xff")),
        (["and", ["=", ["id"], 1], ["=", ["name"], "a"]], And(Comparison("=", 1, 1), Comparison("=", 2, "a"))),
        (["not", ["=", ["id"], 1]], Comparison("!=", 1, 1)),
        (["=", ["point", "x"], 3], Comparison("=", 7, 3)),
        (["=", ["point.x"], 3], Comparison("=", 8, 3)),
        (["not null", ["point", "x"]], NotNull(7)),
        (["true"], AlwaysTrue()),
        (["=", {"transform": "bucket", "number": 4, "column": ["id"]}, 3], InBucket(1, 4, frozenset({3}))),
        (["is null", {"transform": "days", "number": None, "column": ["at"]}], IsNull(9)),
        # NOT (name <=> 'a'), which is true of null
        (["not", ["and", ["not null", ["name"]], ["=", ["name"], "a"]]], Or(IsNull(2), Comparison("!=", 2, "a"))),
    ],
)
def test_what_can_be_said_is_said(described: list[Any], expected: object) -> None:
    assert predicate_of([described], SCHEMA) == expected


def test_all_filters_must_hold() -> None:
    assert predicate_of([["=", ["id"], 1], ["=", ["name"], "a"]], SCHEMA) == And(
        Comparison("=", 1, 1), Comparison("=", 2, "a")
    )
    assert predicate_of([], SCHEMA) == AlwaysTrue()


def test_nan_is_above_every_number() -> None:
    assert predicate_of([[">", ["ratio"], 1.5]], SCHEMA) == Or(Comparison(">", 4, 1.5), IsNaN(4))
    assert predicate_of([["<", ["ratio"], 1.5]], SCHEMA) == Comparison("<", 4, 1.5)
    assert predicate_of([["=", ["ratio"], {"float": "NaN"}]], SCHEMA) == IsNaN(4)


@pytest.mark.parametrize(
    "described",
    [
        ["=", ["gone"], 1],
        ["or", ["=", ["id"], 1], ["=", ["gone"], 1]],
        ["not", ["and", ["=", ["id"], 1], ["=", ["gone"], 1]]],
        ["<", ["ratio"], {"float": "Infinity"}],
        ["in", ["ratio"], [1.0, {"float": "NaN"}]],
        # a null struct may be no null of its fields to those who wrote the file
        ["is null", ["point", "x"]],
        ["not", ["and", ["not null", ["point", "x"]], ["=", ["point", "x"], 1]]],
        ["=", {"transform": "truncate", "number": 10, "column": ["price"]}, {"decimal": "1.20"}],
        ["<", {"transform": "truncate", "number": 10, "column": ["id"]}, 20],
        ["=", {"transform": "hours", "number": None, "column": ["id"]}, 20],
    ],
)
def test_what_cannot_be_said_prunes_nothing(described: list[Any]) -> None:
    assert predicate_of([described], SCHEMA) == AlwaysTrue()


def test_half_of_a_conjunction_may_be_left_out() -> None:
    assert predicate_of([["and", ["=", ["id"], 1], ["=", ["gone"], 1]]], SCHEMA) == Comparison("=", 1, 1)
