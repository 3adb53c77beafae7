"""Commits whose base another process has expired, with its files, before they are staged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from sqlext.catalog.catalog import LoadedTable
from sqlext.command.maintenance.expiry import expire_snapshots
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.manifest_rewrite import RewriteManifests
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.commit.actions.snapshot_expiry import ExpireSnapshots
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.storage.location import to_local_path
from unit.command.lake import Lake, refused

NEVER = 10**15
WAYS = pytest.mark.parametrize("options", [{}, {"group-commit": "process"}], ids=["alone", "in a group"])


def written(lake: Lake, id: int) -> ContentFile:
    """A data file of one row that `t` does not have."""
    lake.create("CREATE TABLE written (id BIGINT)")
    lake.append("written", id=[id])
    (file,) = lake.files("written")
    return file


def expired(folder: Path) -> tuple[ContentFile, LoadedTable]:
    """A file for `t`, and a version of `t` that has the row 1, and then row 2 and no earlier snapshot."""
    lake = Lake(folder)
    file = written(lake, 3)
    lake.create("CREATE TABLE t (id BIGINT)")
    base = lake.append(id=[1])
    lake.append(id=[2])
    expire_snapshots(lake.environment, "lake", lake.load(), ExpireSnapshots(older_than_ms=NEVER))
    return file, base


def late(folder: Path, options: Mapping[str, str]) -> Lake:
    """Another process, which has cached nothing of the table."""
    return Lake(folder, options=options, seed=2)


@WAYS
def test_an_append_lands_on_the_newest_version(tmp_path: Path, options: Mapping[str, str]) -> None:
    file, base = expired(tmp_path)
    lake = late(tmp_path, options)
    assert lake.environment.commit("lake", base, AppendFiles((file,))).attempts == 2
    assert lake.rows() == [(1,), (2,), (3,)]


def test_manifests_are_rewritten_in_the_newest_version(tmp_path: Path) -> None:
    _, base = expired(tmp_path)
    lake = late(tmp_path, {})
    lake.environment.commit("lake", base, RewriteManifests(0))
    assert lake.rows() == [(1,), (2,)]
    assert [one.summary["operation"] for one in lake.load().metadata.snapshots] == ["append", "replace"]


@WAYS
def test_a_change_that_has_read_rows_is_refused(tmp_path: Path, options: Mapping[str, str]) -> None:
    file, base = expired(tmp_path)
    with refused("CONCURRENT_CHANGE", "expired"):
        change = RowDelta((file,), base_snapshot_id=base.metadata.current_snapshot_id)
        late(tmp_path, options).environment.commit("lake", base, change)


@WAYS
def test_a_file_that_the_newest_version_lacks_is_missing(tmp_path: Path, options: Mapping[str, str]) -> None:
    file, _ = expired(tmp_path)
    lake = late(tmp_path, options)
    base = lake.load()
    snapshot = base.metadata.current_snapshot()
    assert snapshot is not None
    Path(to_local_path(snapshot.manifest_list)).unlink()
    with refused("FILE_NOT_FOUND", snapshot.manifest_list):
        lake.environment.commit("lake", base, AppendFiles((file,)))
