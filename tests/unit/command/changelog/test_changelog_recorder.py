"""Changes that are stored with the snapshot of a commit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from small_tables import InterruptedIO, files_below, no_space_for, stored_rows
from sqlext.command.change.row_level import commit_change
from sqlext.command.changelog.changelog_recorder import CompactionRecorder, recorder_of
from sqlext.commit.action import Destination, StagedChange
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.recorded_action import RecordedAction
from sqlext.errors import StorageError
from sqlext.spark.catalog.session_catalogs import handle_of
from sqlext.spark.catalog.time_travel import pinned_snapshot
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.stored_changelog import (
    BEGINNING,
    FULL_COMPACTION,
    LOOKUP,
    StoredChangelog,
    can_store_changes,
)
from unit.command.lake import Lake

LOOKED_UP = "CREATE TABLE t (id BIGINT, PRIMARY KEY (id)) TBLPROPERTIES ('changelog-producer'='lookup', {})"
VERSION_2, VERSION_3 = "'format-version'='2'", "'format-version'='3'"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def _snapshot(lake: Lake) -> Snapshot:
    found = lake.load().metadata.current_snapshot()
    assert found is not None
    return found


def _stored(lake: Lake, snapshot: Snapshot) -> list[tuple[Any, ...]]:
    """The rows of the changelog that the snapshot names."""
    handle = replace(pinned_snapshot(handle_of("lake", lake.load()), snapshot.snapshot_id), changelog=True)
    version = lake.environment.catalogs.version(handle)
    tasks = lake.environment.scans.plan(version, AlwaysTrue()).tasks
    return sorted(tuple(row.values()) for task in tasks for row in stored_rows(task.file))


@pytest.mark.parametrize("version", [VERSION_2, VERSION_3])
def test_a_commit_names_the_changes_that_it_made(lake: Lake, version: str) -> None:
    lake.create(LOOKED_UP.format(version))
    lake.append(id=[1, 2, 3])
    assert StoredChangelog.of(_snapshot(lake)) is None, "the files of an append are its changes"
    lake.delete({lake.files()[0].file_path: [0, 2]})
    deleted = _snapshot(lake)
    stored = StoredChangelog.of(deleted)
    assert stored is not None
    assert (stored.producer, stored.span) == (LOOKUP, None)
    assert _stored(lake, deleted) == [(1, "-D"), (3, "-D")]
    lake.delete({lake.files()[0].file_path: [1]})
    assert _stored(lake, _snapshot(lake)) == [(2, "-D")]
    assert _stored(lake, deleted) == [(1, "-D"), (3, "-D")]


def test_changes_are_told_against_what_the_commit_has_landed_on(lake: Lake) -> None:
    """All files go, those too that another commit has added since the statement was planned."""
    lake.create(LOOKED_UP.format(VERSION_2))
    lake.append(id=[1])
    planned = lake.target()
    lake.append(id=[2])
    assert planned.recorder is not None
    action = RecordedAction(OverwriteFiles((), delete_all=True), planned.recorder)
    lake.environment.commit("lake", planned.table, action)
    assert _stored(lake, _snapshot(lake)) == [(1, "-D"), (2, "-D")]


def test_a_staged_snapshot_stores_nothing(lake: Lake, tmp_path: Path) -> None:
    lake.create(LOOKED_UP.format(VERSION_2))
    lake.append(id=[1])
    target = lake.target()
    staged = replace(target, destination=Destination(wap_id="w1"))
    commit_change(lake.environment, staged, OverwriteFiles((), delete_all=True))
    assert StoredChangelog.of(lake.load().metadata.snapshots[-1]) is None
    assert not [name for name in files_below(tmp_path) if "_changelog" in name]


def test_nothing_is_left_of_the_changes_of_a_commit_that_fails(tmp_path: Path) -> None:
    io = InterruptedIO()
    lake = Lake(tmp_path, io)
    lake.create(LOOKED_UP.format(VERSION_2))
    lake.append(id=[1, 2])
    path = lake.files()[0].file_path
    io.around_create = no_space_for("metadata.json").around_create
    before = files_below(tmp_path)
    with pytest.raises(StorageError, match="No space left"):
        lake.delete({path: [0]})
    assert files_below(tmp_path) == before
    io.around_create = None
    lake.delete({path: [0]})
    assert [name for name in files_below(tmp_path) if "_changelog" in name]


def test_which_tables_store_their_changes(lake: Lake) -> None:
    def recorder(text: str) -> object:
        lake.create(text)
        return recorder_of(lake.environment, None, "lake", lake.load(text.split()[2]))

    assert recorder("CREATE TABLE a (id BIGINT, PRIMARY KEY (id))") is None
    assert recorder(LOOKED_UP.format(VERSION_2)) is not None
    given = "CREATE TABLE b (id BIGINT, PRIMARY KEY (id)) TBLPROPERTIES ('changelog-producer'='input')"
    assert recorder(given) is None


def test_a_table_with_a_column_of_kinds_of_its_own_stores_none(lake: Lake) -> None:
    metadata = lake.create(LOOKED_UP.format(VERSION_2)).metadata
    assert can_store_changes(metadata)
    schema = metadata.schema()
    theirs = replace(schema, fields=(replace(schema.fields[0], name="_ROW_KIND"),))
    assert not can_store_changes(replace(metadata, schemas=(theirs,)))


def test_a_compaction_tells_what_has_happened_since_the_last(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT, PRIMARY KEY (id))")
    lake.append(id=[1, 2])
    lake.delete({lake.files()[0].file_path: [0]})
    lake.append(id=[3])

    def recorded() -> Snapshot:
        recorder = CompactionRecorder(lake.environment, None, "lake", lake.load(), _snapshot(lake))
        lake.commit(RecordedAction(AppendFiles(()), recorder))
        return _snapshot(lake)

    until = _snapshot(lake)
    told = recorded()
    stored = StoredChangelog.of(told)
    assert stored is not None
    assert (stored.producer, stored.span) == (FULL_COMPACTION, (BEGINNING, until.snapshot_id))
    assert _stored(lake, told) == [(2, "+I"), (3, "+I")], "row 1 came and went"
    lake.append(id=[4])
    later = recorded()
    assert _stored(lake, later) == [(4, "+I")]


def test_the_attempts_of_a_compactions_commit_share_a_changelog(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT, PRIMARY KEY (id))")
    lake.append(id=[1])
    until = _snapshot(lake)
    recorder = CompactionRecorder(lake.environment, None, "lake", lake.load(), until)
    change = StagedChange(lake.load().metadata, (), ())
    assert recorder.record(change, until) == recorder.record(change, until)
