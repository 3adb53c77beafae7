"""Expressions cut into pieces name the same columns as whole ones."""

from __future__ import annotations

import random

import pytest

from sqlext.sql.tokens.expression_pieces import expression_pieces
from sqlext.sql.tokens.expression_slice import _parse, _references, column_references

_LEAVES = ("a", "b.c", "`x y`", "1", "'a(b'", "date '2020-01-01'", "interval 1 day", "t.s.f", "current_date", "x:y")
_SHAPES = (
    "({0})",
    "(({0}))",
    "f({0})",
    "lake.db.f({0}, {1})",
    "`f`({0})",
    "({0} + {1})",
    "({0} AND {1}) OR {2}",
    "NOT ({0})",
    "- ({0})",
    "CASE WHEN ({0}) THEN ({1}) ELSE ({2}) END",
    "CASE ({0}) WHEN ({1}) THEN 1 END",
    "CAST({0} AS DECIMAL(10, 2))",
    "CAST(({0}) AS STRUCT<f: ARRAY<INT>>)",
    "({0})::INT",
    "({0}).f",
    "f({0}).g",
    "f({0})[({1})]",
    "m[f({0})]",
    "({0}) IN (({1}), f({2}))",
    "({0}, {1}) IN ((1, 2), (f({2}), 3))",
    "({0}) BETWEEN ({1}) AND ({2})",
    "({0}) LIKE ({1})",
    "({0}) IS NOT NULL",
    "EXISTS (SELECT ({0}) FROM x WHERE ({1}) = f({2}))",
    "(SELECT max({0}) FROM (SELECT * FROM y WHERE ({1})) z)",
    "({0}) IN (SELECT f({1}) FROM x)",
    "sum({0}) OVER (PARTITION BY ({1}) ORDER BY f({2}))",
    "count(DISTINCT ({0})) FILTER (WHERE ({1}))",
    "extract(YEAR FROM ({0}))",
    "trim(BOTH ({0}) FROM ({1}))",
    "named_struct('a', ({0}), 'b', f({1}))",
    "struct(({0}) AS a, {1})",
    "transform({0}, v -> f(v, ({1})))",
    "f(g => ({0}))",
    "/* ( */ ({0}) -- )\n",
    "({0}) || ({1})",
    "f()",
    "({0}) DIV ({1})",
)


def _expression(random: random.Random, depth: int) -> str:
    if depth == 0:
        return random.choice(_LEAVES)
    shape = random.choice(_SHAPES)
    return shape.format(*(_expression(random, random.randrange(depth)) for _ in range(3)))


@pytest.mark.parametrize("seed", range(10))
def test_pieces_name_the_columns_of_the_whole(seed: int) -> None:
    steps = random.Random(seed)
    compared = 0
    for _ in range(150):
        text = _expression(steps, 6)
        whole = column_references(text)
        if whole is None:
            continue
        for most in (1, 2, 3):
            pieces = expression_pieces(text, most)
            trees = [_parse(piece.text) for piece in pieces]
            if any(tree is None for tree in trees):
                continue  # such an expression counts as one that cannot be read
            compared += len(pieces) > 1
            found = [one for tree, piece in zip(trees, pieces, strict=True) for one in _references(tree, piece) or ()]
            assert tuple(sorted(found, key=lambda one: one.start)) == whole, (seed, most, text)
    assert compared > 100


@pytest.mark.parametrize(
    ("text", "is_cut"),
    [
        ("f(f(f(f(a))))", True),
        ("((((a))))", True),
        ("a + (b * (c + (d)))", True),
        ("transform(a, x -> f(f(f(x))))", False),
        ("f(f(f(f(a)", False),
        ("f)))", False),
        ("a[b[c[d[e]]]]", False),
    ],
)
def test_what_is_cut(text: str, is_cut: bool) -> None:
    assert (len(expression_pieces(text, 2)) > 1) == is_cut
