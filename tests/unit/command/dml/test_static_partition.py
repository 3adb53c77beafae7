"""The columns that PARTITION may name, and the SQL of their values."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlext.command.dml.static_partition import static_partition
from unit.command.lake import Lake, read, refused


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    made.create("CREATE TABLE t (id INT, p STRING, `a.b` DATE, ts TIMESTAMP) PARTITIONED BY (p, `a.b`, days(ts))")
    return made


def _values(lake: Lake, clause: str, *, case_sensitive: bool = False) -> list[tuple[str, str]]:
    statement = read(f"INSERT INTO t PARTITION ({clause}) SELECT 1")
    found = static_partition(statement, lake.load().metadata, case_sensitive=case_sensitive)
    return [(value.field.name, value.text) for value in found]


def test_values_are_cast_to_the_columns_types(lake: Lake) -> None:
    assert _values(lake, "`a.b` = '2024-01-01', P = upper('x')") == [
        ("a.b", "CAST('2024-01-01' AS DATE)"),
        ("p", "CAST(upper('x') AS STRING)"),
    ]
    # A column without a value gets it from the rows.
    assert _values(lake, "p = 'x', `a.b`") == [("p", "CAST('x' AS STRING)")]


def test_columns_of_which_no_partition_has_the_value(lake: Lake) -> None:
    for clause in ("id = 1", "ts = now()", "id"):
        with refused("NOT_A_PARTITION_COLUMN", "lake.db.t", "p, a.b"):
            _values(lake, clause)
    with refused("UNRESOLVED_COLUMN.WITH_SUGGESTION", "q"):
        _values(lake, "q = 1")
    with refused("UNRESOLVED_COLUMN.WITH_SUGGESTION", "P"):
        _values(lake, "P = 'x'", case_sensitive=True)
