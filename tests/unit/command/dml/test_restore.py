"""RESTORE TABLE to a version; a time is Spark's to read."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlext.command.dml.restore import restore
from sqlext.commit.actions.reference_change import CreateReference
from unit.command.lake import Lake, read, refused


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    made.create("CREATE TABLE t (id INT)")
    made.append(id=[1])
    made.append(id=[2])
    return made


def _restore(lake: Lake, version: str) -> list[int]:
    (row,) = restore(lake.environment, None, read(f"RESTORE TABLE t TO VERSION AS OF {version}")).rows
    return list(row)


def test_main_goes_to_a_snapshot_a_tag_or_a_branch(lake: Lake) -> None:
    one, two = (snapshot.snapshot_id for snapshot in lake.load().metadata.snapshots)
    lake.commit(CreateReference("v1", "tag", one))
    lake.commit(CreateReference("b2", "branch", two))
    assert _restore(lake, f"{one}") == [two, one]
    assert lake.rows() == [(1,)]
    assert _restore(lake, "'b2'") == [one, two]
    assert _restore(lake, "'v1'") == [two, one]
    assert len(lake.load().metadata.snapshots) == 2, "what came after stays"
    with refused("SNAPSHOT_NOT_FOUND", "42"):
        _restore(lake, "42")


def test_a_table_without_snapshots_has_no_version(lake: Lake) -> None:
    lake.create("CREATE TABLE empty (id INT)")
    with refused("SNAPSHOT_NOT_FOUND", "main"):
        restore(lake.environment, None, read("RESTORE TABLE empty TO VERSION AS OF 'main'"))
