"""What the environment makes of a session, of its settings and of a branch."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlext.command.plan.change_plan import Way
from sqlext.commit.action import Destination
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.property_change import ChangeProperties
from unit.command.lake import Lake, refused


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    made.create("CREATE TABLE t (id BIGINT)")
    return made


def test_settings_of_plans_are_those_of_one_statement(lake: Lake) -> None:
    planned = lake.environment.planned_by({"sqlext.plan.force": "auto", "sqlext.plan.driver-rows": "3"})
    assert planned.planning.forced_ways == {Way.AUTO}
    assert planned.planning.thresholds.driver_rows == 3
    assert not lake.environment.planning.forced_ways
    assert lake.environment.planned_by({}) is lake.environment
    with refused("SETTING_UNKNOWN", "sqlext.plan.forced", "sqlext.plan.force"):
        lake.environment.planned_by({"sqlext.plan.forced": "auto"})


def test_a_version_is_that_of_a_branch(lake: Lake) -> None:
    lake.append(id=[1])
    lake.commit(AppendFiles(()), destination=Destination("audit"))
    table = lake.load()
    main, audit = lake.environment.version("lake", table), lake.environment.version("lake", table, "audit")
    assert main.snapshot is not None
    assert main.snapshot.snapshot_id == table.metadata.current_snapshot_id
    assert audit.snapshot is not None
    assert audit.snapshot.parent_snapshot_id == main.snapshot.snapshot_id
    # A branch that is not there yet begins at the head of main.
    assert lake.environment.version("lake", table, "new").snapshot == main.snapshot


def test_a_statement_commits_within_the_transaction_of_its_session(lake: Lake) -> None:
    lake.environment.transactions.begin("one")
    inside, outside = lake.environment.within("one"), lake.environment.within("two")
    parts = ("lake", "db", "t")
    inside.commit("lake", inside.catalogs.load(parts), ChangeProperties({"comment": "inside"}))
    assert inside.catalogs.load(parts).metadata.properties["comment"] == "inside"
    assert "comment" not in outside.catalogs.load(parts).metadata.properties
    lake.environment.transactions.commit("one")
    assert lake.load().metadata.properties["comment"] == "inside"
