"""DROP CONSTRAINT, which needs no session."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlext.command.ddl.alter_constraint import drop_constraint
from sqlext.commit.actions.constraint_change import ChangeConstraints
from sqlext.spec.constraint import CHECK_PREFIX, check_constraints
from unit.command.lake import Lake, read, refused


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    made.create("CREATE TABLE t (a INT)")
    made.commit(ChangeConstraints({f"{CHECK_PREFIX}Positive": "a > 0", f"{CHECK_PREFIX}small": "a < 9"}))
    return made


def _drop(lake: Lake, clause: str) -> list[str]:
    drop_constraint(lake.environment, None, read(f"ALTER TABLE t DROP CONSTRAINT {clause}"))
    return [one.name for one in check_constraints(lake.load().metadata.properties)]


def test_a_constraint_goes_by_its_name_in_any_case(lake: Lake) -> None:
    assert _drop(lake, "POSITIVE") == ["small"]
    with refused("CONSTRAINT_DOES_NOT_EXIST", "positive", "lake.db.t"):
        _drop(lake, "positive")
    location = lake.load().metadata_location
    assert _drop(lake, "IF EXISTS positive") == ["small"]
    assert lake.load().metadata_location == location
