"""Filters of any length and depth: none recurses over what a user can make long, and none selects fewer rows."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from sqlext.scan.filter.projection import project
from sqlext.scan.filter.pruning import may_match
from sqlext.scan.filter.value_range import point_range
from sqlext.spark.scan.pushdown import exact_predicate, predicate_of
from sqlext.spec.expression import Predicate, conjunction, disjunction, negate, push_down_not, referenced_field_ids
from sqlext.spec.partition_spec import PartitionField, PartitionSpec
from sqlext.spec.schema import Schema
from sqlext.spec.transform import BucketTransform, IdentityTransform
from sqlext.spec.types import LongType, NestedField

SCHEMA = Schema((NestedField(1, "a", LongType()), NestedField(2, "b", LongType())))
SPEC = PartitionSpec(
    0, (PartitionField(1, 1000, "a", IdentityTransform()), PartitionField(2, 1001, "b", BucketTransform(4)))
)
LENGTHS = (1, 2, 3, 600, 2_000)


def _term(number: int) -> list[Any]:
    return [("=", "<", ">=")[number % 3], [("a", "b")[number % 2]], number]


def _chain(operator: str, length: int, shape: str) -> list[Any]:
    terms = [_term(number) for number in range(length)]
    if shape == "flat":
        return [operator, *terms] if length > 1 else terms[0]
    chain = terms[0]
    for term in terms[1:]:
        chain = [operator, chain, term] if shape == "left" else [operator, term, chain]
    return chain


def _use(predicate: Predicate) -> None:
    """All that goes down a predicate, within the frames that a callback may have."""
    for one in (predicate, negate(predicate), push_down_not(predicate)):
        assert referenced_field_ids(one) <= {1, 2}
        referenced_field_ids(project(one, SPEC, SCHEMA))
        may_match(one, lambda id: point_range(5))


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("shape", ["flat", "left", "right"])
@pytest.mark.parametrize("operator", ["and", "or"])
def test_chains_of_any_length_are_said_whole(operator: str, shape: str, length: int) -> None:
    predicate = exact_predicate(_chain(operator, length, shape), SCHEMA)
    assert predicate is not None
    assert referenced_field_ids(predicate) == {1, 2}.intersection(range(1, length + 1))
    _use(predicate)


@pytest.mark.parametrize("length", LENGTHS)
def test_any_number_of_filters_is_one_predicate(length: int) -> None:
    _use(predicate_of([_term(number) for number in range(length)], SCHEMA))
    terms = [predicate_of([_term(number)], SCHEMA) for number in range(length)]
    for join in (conjunction, disjunction):
        _use(join(terms))


@pytest.mark.parametrize("depth", [1, 5, 19, 20, 21, 300, 2_000])
@pytest.mark.parametrize("negated", [False, True])
def test_what_lies_deep_is_left_out_and_never_in_a_way_that_selects_less(depth: int, negated: bool) -> None:
    """`a < 0 OR (a < 1 AND (… ))`, by turns: the value 3 satisfies it; a weaker predicate may hold for more values."""
    described: list[Any] = ["=", ["a"], 3]
    for level in range(depth):
        described = ["or", ["=", ["a"], -1 - level], described] if level % 2 else ["and", ["<", ["a"], 10], described]
        if negated:
            described = ["not", ["not", described]]
    predicate = predicate_of([described], SCHEMA)
    assert may_match(predicate, lambda id: point_range(3))
    exact = exact_predicate(described, SCHEMA)
    if exact is not None:
        assert may_match(exact, lambda id: point_range(3))
        assert not may_match(exact, lambda id: point_range(30))
    _use(predicate)


def test_the_recursion_limit_is_python_s_own() -> None:
    assert sys.getrecursionlimit() <= 3_000
