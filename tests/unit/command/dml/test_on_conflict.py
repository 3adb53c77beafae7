"""The key that ON CONFLICT names."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlext.command.dml.on_conflict import require_key_named
from unit.command.lake import Lake, read, refused


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    made.create("CREATE TABLE t (a INT, `b.c` INT, d INT, PRIMARY KEY (a, `b.c`))")
    made.create("CREATE TABLE free (a INT)")
    return made


def _require(lake: Lake, columns: str, *, table: str = "t", case_sensitive: bool = False) -> None:
    conflict = read(f"INSERT INTO {table} VALUES (1) ON CONFLICT {columns} DO NOTHING").conflict
    require_key_named(lake.target(table), conflict, case_sensitive=case_sensitive)


def test_the_key_in_any_order_or_none(lake: Lake) -> None:
    _require(lake, "")
    _require(lake, "(`b.c`, a)")
    _require(lake, "(A, `B.C`)")


def test_other_columns_are_refused(lake: Lake) -> None:
    for columns in ("(a)", "(a, d)", "(a, `b.c`, d)"):
        with refused("ON_CONFLICT_NOT_KEY", "lake.db.t", "a, b.c"):
            _require(lake, columns)
    with refused("ON_CONFLICT_NOT_KEY"):
        _require(lake, "(A, `b.c`)", case_sensitive=True)
    with refused("UPSERT_WITHOUT_KEY", "lake.db.free", "leave ON CONFLICT out"):
        _require(lake, "", table="free")
