"""Rows that predicates select from Arrow columns, against the evaluation of each row."""

from __future__ import annotations

import os
from random import Random

import pyarrow as pa
import pytest

from sqlext.scan.filter.arrow_literals import literal_array
from sqlext.scan.filter.row_selection import is_evaluated, selection_mask
from sqlext.spec.expression import AlwaysTrue, And, Comparison, InBucket, Not, Or, StartsWith
from sqlext.write.arrow_schema import type_to_arrow
from unit.scan.random_rows import COLUMNS, evaluate, random_predicate, random_rows

SEED = int(os.environ.get("SQLEXT_TEST_SEED", "20261129"))


@pytest.mark.parametrize("seed", range(20))
def test_random_predicates(seed: int) -> None:
    random = Random(SEED + seed)
    compared = 0
    while compared < 100:
        rows = random_rows(random)
        predicate = random_predicate(random, rows)
        if not is_evaluated(predicate):
            continue
        columns = {
            field.id: literal_array([row[field.id] for row in rows], type_to_arrow(field.type)) for field in COLUMNS
        }
        if random.random() < 0.3:
            coded = [id for id, column in columns.items() if pa.types.is_string(column.type)]
            columns |= {id: columns[id].dictionary_encode() for id in coded}
        expected = [evaluate(predicate, row) is True for row in rows]
        assert selection_mask(predicate, columns, len(rows)).tolist() == expected, (SEED + seed, predicate, rows)
        compared += 1


def test_buckets_are_not_evaluated() -> None:
    bucket = InBucket(1, 4, frozenset({2}))
    known = StartsWith(2, "a")
    assert is_evaluated(Not(Or(known, And(AlwaysTrue(), Comparison("=", 1, 5)))))
    assert not any(map(is_evaluated, (bucket, Not(bucket), And(known, bucket), Or(bucket, known))))


def test_a_value_that_the_column_cannot_hold() -> None:
    with pytest.raises((pa.ArrowInvalid, OverflowError)):
        selection_mask(Comparison("=", 1, 2**40), {1: pa.array([1], pa.int32())}, 1)
