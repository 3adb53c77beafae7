"""Filters on transforms, as filters on columns, select the rows for which the transform compares so."""

from __future__ import annotations

import operator
from random import Random
from typing import Any

from sqlext.spark.scan.transform_term import transform_term
from sqlext.spec.expression import negate
from sqlext.spec.transform import parse_transform
from sqlext.spec.types import BooleanType, DoubleType, FloatType
from unit.scan.random_rows import COLUMNS, SCHEMA, evaluate, random_rows

TRANSFORMS = {"years": "year", "months": "month", "days": "day", "hours": "hour", "bucket": "bucket[4]"}
COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq}


def test_terms_select_the_rows_that_the_transform_does() -> None:
    compared = 0
    for case in range(3000):
        random = Random(case)
        rows, field = random_rows(random), random.choice(COLUMNS)
        name, spelling = random.choice([*TRANSFORMS.items(), ("truncate", "truncate[3]")])
        transform, number = parse_transform(spelling), {"bucket": 4, "truncate": 3}.get(name)
        if not transform.can_transform(field.type) or isinstance(field.type, (BooleanType, FloatType, DoubleType)):
            continue
        known = [transform.apply(field.type, row[field.id]) for row in rows if row[field.id] is not None]
        if not known:
            continue
        op, value = random.choice([*COMPARE, "in"]), random.choice(known)
        values: list[Any] = [value, random.choice(known)] if op == "in" else [value]
        term = transform_term(name, number, field, op, values)
        if term is None:
            assert name == "truncate"
            continue
        compared += 1
        for row in rows:
            result = transform.apply(field.type, row[field.id])
            expected = None if result is None else result in values if op == "in" else COMPARE[op](result, value)
            assert evaluate(term, row) == expected, (case, term, row)
            assert evaluate(negate(term), row) == (None if expected is None else not expected), (case, term, row)
    assert compared > 400


def test_values_that_no_cell_begins_with_are_of_no_row() -> None:
    (number,) = [field for field in SCHEMA.fields if str(field.type) == "int"]
    term = transform_term("truncate", 10, number, "=", [15])
    assert term is not None
    assert evaluate(term, {number.id: 15}) is False
    assert evaluate(term, {number.id: None}) is None
