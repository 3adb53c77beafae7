"""A guess at the rows that a predicate selects."""

from __future__ import annotations

import pytest

from sqlext.scan.filter.row_estimate import expected_rows
from sqlext.spec.expression import AlwaysTrue, And, Comparison, In, IsNull, Or, Predicate, StartsWith
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.schema import Schema
from sqlext.spec.single_value import encode
from sqlext.spec.types import LongType, NestedField, StringType

FIELDS = (
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "k", StringType(), required=True),
    NestedField(3, "n", LongType()),
)
KEYLESS = Schema(FIELDS)
BY_ID = Schema(FIELDS, identifier_field_ids=(1,))
BY_BOTH = Schema(FIELDS, identifier_field_ids=(1, 2))
BY_TEXT = Schema(FIELDS, identifier_field_ids=(2,))


def file(first: int, last: int, rows: int = 1_000) -> ContentFile:
    return ContentFile(
        Content.DATA,
        f"f{first}",
        "PARQUET",
        0,
        (),
        rows,
        1,
        null_value_counts={3: 7},
        value_counts={1: rows, 3: rows},
        lower_bounds={1: encode(LongType(), first), 3: encode(LongType(), 1)},
        upper_bounds={1: encode(LongType(), last), 3: encode(LongType(), 50)},
    )


FILES = [file(0, 999), file(1_000, 1_999)]
ID_5, K_X, N_5 = Comparison("=", 1, 5), Comparison("=", 2, "x"), Comparison("=", 3, 5)


@pytest.mark.parametrize(
    ("predicate", "schema", "rows"),
    [
        (ID_5, KEYLESS, 1),
        (Comparison("=", 1, 5_000), KEYLESS, 0),
        (In(1, frozenset({5, 6, 1_500, 9_999})), KEYLESS, 3),
        (N_5, KEYLESS, 40),
        (And(N_5, ID_5), KEYLESS, 1),
        (Or(N_5, ID_5), KEYLESS, 41),
        (IsNull(3), KEYLESS, 14),
        (K_X, KEYLESS, None),
        (And(K_X, N_5), KEYLESS, 40),
        (Or(K_X, N_5), KEYLESS, None),
        (AlwaysTrue(), KEYLESS, None),
        (StartsWith(2, "x"), BY_ID, None),
        (Comparison("<", 1, 5), BY_ID, 6),
        (Comparison(">=", 1, 1_995), BY_ID, 5),
        (And(Comparison(">=", 3, 5), Comparison("<=", 3, 5)), KEYLESS, 200),
        (Comparison(">", 1, 5_000), KEYLESS, 0),
        (K_X, BY_TEXT, 1),
        (In(2, frozenset({"x", "y"})), BY_TEXT, 2),
        (K_X, BY_BOTH, None),
        (And(K_X, In(1, frozenset({1, 2, 1_001}))), BY_BOTH, 3),
        (And(N_5, K_X), BY_TEXT, 1),
    ],
)
def test_rows(predicate: Predicate, schema: Schema, rows: int | None) -> None:
    assert expected_rows(predicate, FILES, schema) == rows


def test_values_far_apart_are_no_more_than_the_keys() -> None:
    assert expected_rows(ID_5, [file(5, 5)], KEYLESS) == 1_000
    assert expected_rows(ID_5, [file(5, 5)], BY_ID) == 1
