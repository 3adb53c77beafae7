"""Literals as rows of a table, where their text alone says what goes into it."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from sqlext.command.dml.literal_rows import literals_in_columns
from sqlext.commit.actions.constraint_change import ChangeConstraints
from sqlext.spec.constraint import CHECK_PREFIX
from sqlext.sql.tokens.literal_query import literal_query
from unit.command.lake import Lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def _rows(lake: Lake, query: str, *places: int) -> list[tuple[Any, ...]] | None:
    literals = literal_query(query)
    assert literals is not None
    found = literals_in_columns(lake.target(), literals, places or range(len(literals.names)))
    return None if found is None else [tuple(row.values()) for row in found.to_pylist()]


def test_places_tell_the_querys_column_of_each_of_the_table(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT, s STRING, day DATE)")
    query = "VALUES (DATE'1969-12-31', 7, 'x'), (NULL, 8, NULL)"
    assert _rows(lake, query, 1, 2, 0) == [(7, "x", date(1969, 12, 31)), (8, None, None)]


@pytest.mark.parametrize(
    ("columns", "query"),
    [
        ("(id INT)", "VALUES (3000000000)"),
        ("(id INT)", "VALUES ('1')"),
        ("(s STRING)", "VALUES (1)"),
        ("(id INT NOT NULL)", "VALUES (NULL)"),
        ("(d DATE)", "VALUES ('2024-01-01')"),
        ("(v VARCHAR(3))", "VALUES ('ab')"),
    ],
)
def test_what_only_spark_makes_of_a_literal(lake: Lake, columns: str, query: str) -> None:
    lake.create(f"CREATE TABLE t {columns}")
    assert _rows(lake, query) is None


def test_a_table_with_rules_or_an_order_of_sparks_has_spark_look_at_its_rows(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id INT NOT NULL, s STRING) ORDERED BY (id)")
    assert _rows(lake, "VALUES (3, 'a'), (1, 'b')") == [(1, "b"), (3, "a")]
    lake.commit(ChangeConstraints({f"{CHECK_PREFIX}c": "id > 0"}))
    assert _rows(lake, "VALUES (3, 'a'), (1, 'b')") is None
    lake.create("CREATE TABLE u (s STRING) ORDERED BY (s DESC)")
    literals = literal_query("VALUES ('a')")
    assert literals is not None
    assert literals_in_columns(lake.target("u"), literals, [0]) is None
