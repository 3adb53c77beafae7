"""The row of counts that a statement answers with."""

from __future__ import annotations

import pytest

from sqlext.command.outcome import Counts, struct


@pytest.mark.parametrize(
    ("counts", "row"),
    [
        (Counts(), [0, 0, 0, 0]),
        (Counts(1, 2, 4), [7, 1, 2, 4]),
        # An upsert by equality deletes knows how many rows it wrote, and not which keys were there.
        (Counts(None, None, 0, affected=3), [3, None, None, 0]),
        (Counts(None, None, 0), [0, None, None, 0]),
        (Counts(1, 2, 4, affected=0), [0, 1, 2, 4]),
    ],
)
def test_affected_rows_are_those_that_are_known(counts: Counts, row: list[int | None]) -> None:
    assert counts.row() == row


def test_a_struct_has_nullable_columns_in_order() -> None:
    inner = struct([("x", "double")])
    fields = struct([("id", "long"), ("at", inner)])["fields"]
    assert [(field["name"], field["type"], field["nullable"]) for field in fields] == [
        ("id", "long", True),
        ("at", inner, True),
    ]
