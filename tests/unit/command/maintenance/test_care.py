"""When a table that looks after itself has snapshots expired, and that its old metadata files go."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sqlext.catalog.metadata_pointer import versions_kept
from sqlext.command.maintenance.care import ask_for_expiry
from sqlext.command.maintenance.expiry_due import expiry_is_due
from sqlext.properties import looks_after_itself
from sqlext.storage.location import to_local_path
from unit.command.lake import Lake
from unit.command.maintenance.random_history import needed, stored

_DAY_MS = 86_400_000
KEYED = "CREATE TABLE t (id BIGINT, s STRING, PRIMARY KEY (id)) TBLPROPERTIES ({})"


@pytest.mark.parametrize(
    ("properties", "itself"),
    [({}, False), ({"write-only": "true"}, False), ({"write-only": "false"}, True), ({"bucket": "4"}, False)],
)
def test_a_table_looks_after_itself_if_it_is_told_so(properties: dict[str, str], itself: bool) -> None:
    assert looks_after_itself(properties) == itself


@pytest.mark.parametrize(("age_days", "due"), [(0, False), (4, False), (6, True)])
def test_expiry_is_due_once_snapshots_are_old(tmp_path: Path, age_days: int, due: bool) -> None:
    lake = Lake(tmp_path)
    lake.create(KEYED.format("'write-only'='false'"))
    for id in range(5):
        lake.append(id=[id], s=["a"])
    assert expiry_is_due(lake.load().metadata, lake.clock() + age_days * _DAY_MS) == due


def test_expiry_waits_until_it_is_worth_a_commit(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.create(KEYED.format("'write-only'='false'"))
    lake.append(id=[0], s=["a"])
    lake.clock.now_ms += 6 * _DAY_MS
    for id in range(1, 5):
        lake.append(id=[id], s=["a"])
    assert not expiry_is_due(lake.load().metadata, lake.clock())
    lake.clock.now_ms += 6 * _DAY_MS
    assert expiry_is_due(lake.load().metadata, lake.clock())


def test_what_a_commit_has_just_replaced_is_not_old(tmp_path: Path) -> None:
    """A table that is loaded once a week: who reads it while it is loaded has five days, as has a rollback."""
    lake = Lake(tmp_path)
    lake.create(KEYED.format("'write-only'='false'"))
    for week in range(6):
        read = lake.files() if week else []
        lake.upsert(id=[week % 2], s=[str(week)])
        if expiry_is_due(lake.load().metadata, lake.clock()):
            assert ask_for_expiry(lake.environment, lake.target())
            assert lake.environment.care.wait(30)
        assert all(Path(to_local_path(file.file_path)).exists() for file in read)
        newest = sorted(one.sequence_number for one in lake.load().metadata.snapshots)[-2:]
        assert newest == [*range(max(1, week), week + 2)]
        lake.clock.now_ms += 7 * _DAY_MS
    assert len(lake.load().metadata.snapshots) < 6
    assert {"done"} == {task.state for task in lake.environment.care.tasks()}


def test_snapshots_that_something_keeps_are_not_due(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.create(KEYED.format("'write-only'='false', 'history.expire.min-snapshots-to-keep'='5'"))
    for id in range(6):
        lake.append(id=[id], s=["a"])
    assert not expiry_is_due(lake.load().metadata, lake.clock() + 6 * _DAY_MS)


def test_shared_files_are_never_due(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.create(KEYED.format("'write-only'='false', 'gc.enabled'='false'"))
    for id in range(5):
        lake.append(id=[id], s=["a"])
    assert not expiry_is_due(lake.load().metadata, lake.clock() + 6 * _DAY_MS)


def _lake_of_old_snapshots(folder: Path) -> Lake:
    """Its table has five, of which four have expired."""
    lake = Lake(folder)
    lake.create(KEYED.format("'write-only'='false'"))
    for id in range(5):
        lake.append(id=[id], s=["a"])
    lake.clock.now_ms += 6 * _DAY_MS
    return lake


def test_the_background_expires_and_says_so(tmp_path: Path) -> None:
    lake = _lake_of_old_snapshots(tmp_path)
    assert ask_for_expiry(lake.environment, lake.target())
    assert not ask_for_expiry(lake.environment, lake.target())
    assert lake.environment.care.wait(30)
    (task,) = lake.environment.care.tasks()
    assert (task.table, task.state, task.told) == ("lake.db.t", "done", "4 snapshots, 4 files")
    assert needed(lake.load()) == stored(lake.load())
    assert len(lake.rows()) == 5


def test_the_background_gives_way_after_each_file(tmp_path: Path) -> None:
    lake = _lake_of_old_snapshots(tmp_path)
    pauses: list[float] = []
    assert ask_for_expiry(replace(lake.environment, sleep=pauses.append), lake.target())
    assert lake.environment.care.wait(30)
    # The five manifest lists are read and four of them deleted; all manifests are those of the last one.
    assert len(pauses) == 5 + 4
    assert min(pauses) > 0


@pytest.mark.parametrize(
    ("properties", "files"),
    [
        ("'write-only'='false'", 4),
        ("'write-only'='false', 'write.metadata.delete-after-commit.enabled'='false'", 11),
        ("'write-only'='true'", 11),
        ("'write-only'='true', 'write.metadata.delete-after-commit.enabled'='true'", 4),
    ],
)
def test_old_metadata_files_go(tmp_path: Path, properties: str, files: int) -> None:
    lake = Lake(tmp_path)
    lake.create(KEYED.format(f"'write.metadata.previous-versions-max'='3', {properties}"))
    for id in range(10):
        lake.append(id=[id], s=["a"])
    assert len(list((tmp_path / "db" / "t" / "metadata").glob("v*.metadata.json"))) == files


@pytest.mark.parametrize(
    ("properties", "snapshots", "kept"),
    [
        ({"write-only": "false"}, 10, 100),
        ({"write-only": "false"}, 400, 29),
        ({"write-only": "false"}, 100_000, 10),
        ({"write-only": "false", "write.metadata.previous-versions-max": "50"}, 100_000, 50),
        ({}, 100_000, 100),
    ],
)
def test_large_metadata_files_are_fewer(tmp_path: Path, properties: dict[str, str], snapshots: int, kept: int) -> None:
    lake = Lake(tmp_path)
    lake.create("CREATE TABLE t (id BIGINT)")
    (snapshot,) = lake.append(id=[1]).metadata.snapshots
    metadata = replace(lake.load().metadata, properties=properties, snapshots=(snapshot,) * snapshots)
    assert versions_kept(metadata) == kept
