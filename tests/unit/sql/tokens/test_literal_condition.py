"""Conditions that name keys by literals, read without Spark."""

from __future__ import annotations

import pytest

from sqlext.sql.tokens.literal_condition import literal_condition


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        ("id = 5", [("id",)], [("5",)]),
        (" id=-5 ", [("id",)], [("-5",)]),
        ("t.id = 5L\nAND `a b` = 'x y'", [("t", "id"), ("a b",)], [("5", "x y")]),
        ("a = DATE '2026-01-01' and b = 1", [("a",), ("b",)], [("2026-01-01", "1")]),
        ("id IN (1, 2,3 )", [("id",)], [("1",), ("2",), ("3",)]),
        ("`id`in('a')", [("id",)], [("a",)]),
        ("lake.db.t.id = CAST('7' AS INT)", [("lake", "db", "t", "id")], [("7",)]),
        ("`t.id` = 1", [("t.id",)], [("1",)]),
    ],
)
def test_equal_to_literals(text: str, columns: list[tuple[str, ...]], rows: list[tuple[str, ...]]) -> None:
    found = literal_condition(text)
    assert found is not None
    assert list(found.columns) == columns
    assert [tuple(one.text for one in row) for row in found.rows] == rows


@pytest.mark.parametrize(
    "text",
    [
        "",
        "id",
        "5 = id",
        "id = other",
        "id == 5",
        "id <=> 5",
        "id >= 5",
        "id != 5",
        "NOT id = 5",
        "(id = 5)",
        "id = 5 OR id = 6",
        "id = 5 AND",
        "id = 5 AND v > 1",
        "id = 5 AND v IN (1, 2)",
        "id = 5 + 1",
        "id = 5 -- AND v = 1",
        "id = 5 /* a */",
        "id = 'a' 'b'",
        "id = 'a' || 'b'",
        "id = 'it\\'s'",
        'id = "a"',
        "id = :key",
        "id = ?",
        "id NOT IN (1)",
        "id IN ()",
        "id IN (1, )",
        "id IN (1, 2) AND v = 1",
        "id IN (1) = TRUE",
        "id IN (SELECT 1)",
        "id = 1ANDv = 2",
        "TRUE = 5",
        "current_user = 'me'",
        "a.b() = 5",
        "a[0] = 5",
        "id = 5 COLLATE UTF8_LCASE",
    ],
)
def test_other_conditions_are_sparks(text: str) -> None:
    assert literal_condition(text) is None
