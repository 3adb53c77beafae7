"""Predicates as conditions that a user reads, and that Spark's grammar, as sqlglot has it, reads back."""

from __future__ import annotations

from typing import Any

import pytest
import sqlglot

from sqlext.spec.expression import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Comparison,
    In,
    InBucket,
    IsNaN,
    IsNull,
    Not,
    NotIn,
    NotNaN,
    NotNull,
    Or,
    StartsWith,
    conjunction,
    disjunction,
)
from sqlext.spec.schema import Schema
from sqlext.spec.types import DateType, DoubleType, IntegerType, NestedField, StringType, StructType
from sqlext.sql.predicate_text import predicate_text

SCHEMA = Schema(
    (
        NestedField(1, "id", IntegerType()),
        NestedField(2, "a.b", DateType()),
        NestedField(3, "s", StructType((NestedField(4, "name", StringType()),))),
        NestedField(5, "f", DoubleType()),
    )
)
ONE = Comparison("=", 1, 1)


@pytest.mark.parametrize(
    ("predicate", "text"),
    [
        (AlwaysTrue(), "true"),
        (AlwaysFalse(), "false"),
        (ONE, "id = 1"),
        (Comparison(">=", 2, 19_723), "`a.b` >= DATE '2024-01-01'"),
        (Comparison("!=", 4, "it's"), r"s.name != 'it\'s'"),
        (In(1, frozenset({2, 1})), "id IN (1, 2)"),
        (NotIn(1, frozenset(range(7))), "id NOT IN (0, 1, 2, 3, 4, …)"),
        (IsNull(1), "id IS NULL"),
        (And(NotNull(1), ONE), "id IS NOT NULL AND id = 1"),
        (And(Or(ONE, IsNull(1)), NotNaN(5)), "(id = 1 OR id IS NULL) AND NOT isnan(f)"),
        (Not(Or(ONE, IsNaN(5))), "NOT (id = 1 OR isnan(f))"),
        (StartsWith(4, "x"), "startswith(s.name, 'x')"),
        (InBucket(1, 16, frozenset({3, 1})), "bucket(16, id) IN (1, 3)"),
        (IsNull(99), "field 99 IS NULL"),
    ],
)
def test_a_predicate_in_words(predicate: Any, text: str) -> None:
    assert predicate_text(predicate, SCHEMA) == text
    if "…" not in text and "field" not in text:
        assert sqlglot.parse_one(f"SELECT * FROM t WHERE {text}", dialect="spark") is not None


@pytest.mark.parametrize("united", [conjunction, disjunction])
def test_a_long_condition_ends_early(united: Any) -> None:
    text = predicate_text(united([Comparison("=", 1, number) for number in range(100_000)]), SCHEMA)
    assert text.startswith("id = 0 ")
    assert text.count("id = ") == 8
    assert len(text) < 500
