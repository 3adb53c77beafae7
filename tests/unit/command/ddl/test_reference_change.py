"""ALTER TABLE … CREATE, REPLACE and DROP of branches and tags."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlext.command.ddl.reference_change import create_reference, drop_reference
from sqlext.spec.metadata.reference import SnapshotReference
from unit.command.lake import Lake, read, refused


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    made.create("CREATE TABLE t (id INT)")
    return made


def _create(lake: Lake, clause: str) -> SnapshotReference:
    create_reference(lake.environment, None, read(f"ALTER TABLE t {clause}"))
    return lake.load().metadata.refs[clause.split("`")[1]]


def test_a_branch_of_a_table_without_snapshots_begins_at_one_of_no_files(lake: Lake) -> None:
    made = _create(lake, "CREATE BRANCH `a.b` RETAIN 5 DAYS WITH SNAPSHOT RETENTION 2 SNAPSHOTS 3 HOURS")
    assert made.type == "branch"
    assert made.max_ref_age_ms == 5 * 24 * 3600 * 1000
    assert (made.min_snapshots_to_keep, made.max_snapshot_age_ms) == (2, 3 * 3600 * 1000)
    metadata = lake.load().metadata
    assert metadata.current_snapshot_id is None
    (snapshot,) = metadata.snapshots
    assert snapshot.snapshot_id == made.snapshot_id
    lake.append("t", "branch_a.b", id=[1])
    assert lake.rows() == []


def test_a_tag_needs_a_snapshot(lake: Lake) -> None:
    with refused("TABLE_HAS_NO_SNAPSHOT", "lake.db.t"):
        _create(lake, "CREATE TAG `v1`")
    first = lake.append(id=[1]).metadata.current_snapshot_id
    lake.append(id=[2])
    assert _create(lake, f"CREATE TAG `v1` AS OF VERSION {first}") == SnapshotReference(first, "tag")


def test_one_that_is_there_stays_unless_it_is_replaced(lake: Lake) -> None:
    first = lake.append(id=[1]).metadata.current_snapshot_id
    _create(lake, "CREATE TAG `v1`")
    second = lake.append(id=[2]).metadata.current_snapshot_id
    with refused("REFERENCE_ALREADY_EXISTS", "v1"):
        _create(lake, "CREATE TAG `v1`")
    assert _create(lake, "CREATE TAG IF NOT EXISTS `v1`").snapshot_id == first
    assert _create(lake, "CREATE OR REPLACE TAG `v1`").snapshot_id == second
    assert _create(lake, f"REPLACE TAG `v1` AS OF VERSION {first}").snapshot_id == first
    with refused("REFERENCE_NOT_FOUND", "v2"):
        _create(lake, "REPLACE TAG `v2`")
    with refused("SNAPSHOT_NOT_FOUND", "42"):
        _create(lake, "CREATE TAG `v2` AS OF VERSION 42")


def test_references_go(lake: Lake) -> None:
    def drop(clause: str) -> None:
        drop_reference(lake.environment, None, read(f"ALTER TABLE t DROP {clause}"))

    lake.append(id=[1])
    _create(lake, "CREATE BRANCH `audit`")
    with refused("WRONG_REFERENCE_TYPE", "audit"):
        drop("TAG audit")
    drop("BRANCH audit")
    assert "audit" not in lake.load().metadata.refs
    with refused("REFERENCE_NOT_FOUND", "audit"):
        drop("BRANCH audit")
    drop("BRANCH IF EXISTS audit")
    with refused("MAIN_BRANCH_STAYS"):
        drop("BRANCH main")
