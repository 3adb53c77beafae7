"""Sort orders as texts, and the columns of z-orders."""

from __future__ import annotations

import pytest

from sqlext.errors import SqlextError
from sqlext.sql.statements.statement import PartitionTerm, SortTerm
from sqlext.sql.syntax.sort_order_syntax import parse_sort_order


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("id", (SortTerm(PartitionTerm("identity", ("id",))),)),
        ("`a.b`.c DESC", (SortTerm(PartitionTerm("identity", ("a.b", "c")), True, False),)),
        (
            "bucket(4, id) NULLS LAST, zorder",
            (
                SortTerm(PartitionTerm("bucket", ("id",), 4), False, False),
                SortTerm(PartitionTerm("identity", ("zorder",))),
            ),
        ),
        ("zorder(a, `b c`)", (("a",), ("b c",))),
        ("ZORDER(a), zOrder(s.b)", (("a",), ("s", "b"))),
    ],
)
def test_terms_or_columns(text: str, terms: object) -> None:
    assert parse_sort_order(text) == terms


@pytest.mark.parametrize("text", ["", "id,", "zorder(a), b", "b, zorder(a)", "zorder()", "id DESC x"])
def test_what_is_no_sort_order(text: str) -> None:
    with pytest.raises(SqlextError):
        parse_sort_order(text)
