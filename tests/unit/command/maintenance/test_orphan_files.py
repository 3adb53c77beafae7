"""Which files are orphans: all that nothing needs, and none that anything may need."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from small_tables import files_below, no_space_for
from sqlext.catalog.identifier import TableIdentifier
from sqlext.command.maintenance.expiry import expire_snapshots
from sqlext.command.maintenance.orphan_files import (
    OrphanSearch,
    PrefixMismatch,
    orphan_files,
    remove_orphan_files,
)
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.snapshot_expiry import ExpireSnapshots
from sqlext.commit.actions.staged_batch import stage_batch
from sqlext.commit.actions.stream_progress import AdvanceStream, StreamProgress
from sqlext.errors import SqlextError
from sqlext.storage.file_io import FileStatus, LocalFileIO
from sqlext.storage.location import same_place, to_local_path
from unit.command.lake import Lake, refused
from unit.command.maintenance.random_history import RandomHistory, needed, stored

ALL = 10**15
KEYED = "CREATE TABLE t (id BIGINT, s STRING, PRIMARY KEY (id))"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path)
    lake.create(KEYED)
    lake.append(id=[1, 2], s=["a", "b"])
    return lake


def found(lake: Lake, **given: Any) -> set[str]:
    """Orphan files, relative to the table's folder."""
    table = lake.load()
    search = OrphanSearch(**{"older_than_ms": ALL, **given})
    root = same_place(table.metadata.location) + "/"
    return {same_place(path).removeprefix(root) for path in orphan_files(lake.environment, "lake", table, search)}


def removed(lake: Lake, **given: Any) -> int:
    search = OrphanSearch(**{"older_than_ms": ALL, **given})
    return len(remove_orphan_files(lake.environment, "lake", lake.load(), search))


def put(lake: Lake, name: str, data: bytes = b"x") -> Path:
    """A file in the table's folder."""
    path = Path(to_local_path(lake.load().metadata.location)) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("seed", range(16))
def test_what_random_histories_leave_behind_is_found_and_nothing_else(tmp_path: Path, seed: int) -> None:
    history = RandomHistory(tmp_path, seed)
    for _ in range(3):
        for _ in range(6):
            history.step()
        lake, rng = history.lake, history.rng
        planted = {put(lake, f"{folder}/{rng.random()}.parquet") for folder in ("data", "metadata", "data/deep/er")}
        if rng.random() < 0.5:
            lake.expire(*(one.snapshot_id for one in lake.load().metadata.snapshots[:-1] if rng.random() < 0.5))
        table = lake.load()
        orphans = {f"{same_place(table.metadata.location)}/{path}" for path in found(lake)}
        assert orphans == stored(table) - needed(table), f"seed {seed}"
        assert {str(path) for path in planted} <= orphans
        assert removed(lake) == len(orphans)
        assert stored(lake.load()) == needed(lake.load())
        history.require_kept()


def test_young_files_stay(lake: Lake) -> None:
    path = put(lake, "data/new.parquet")
    os.utime(path, (1_000, 1_000))
    assert found(lake, older_than_ms=1_000_000) == set()
    assert found(lake, older_than_ms=1_000_001) == {"data/new.parquet"}


def test_what_a_failed_writer_left_is_found(tmp_path: Path) -> None:
    io = no_space_for("snap-")
    lake = Lake(tmp_path, io)
    io.around_create, full = None, io.around_create
    lake.create(KEYED)
    lake.append(id=[1], s=["a"])
    leftover = put(lake, "data/killed.parquet")
    temporary = put(lake, f"metadata/.sqlext-{'0' * 32}.tmp")
    io.around_create = full
    with pytest.raises(SqlextError):
        lake.append(id=[2], s=["a"])
    assert found(lake) == {"data/killed.parquet", f"metadata/{temporary.name}"}
    assert removed(lake) == 2
    assert not leftover.exists()


def test_hidden_folders_are_left_alone_but_for_partitions(lake: Lake) -> None:
    lake.create("CREATE TABLE p (id BIGINT, _s STRING) PARTITIONED BY (_s)")
    lake.append("p", id=[1], _s=["a"])
    root = Path(to_local_path(lake.load("p").metadata.location))
    for name in ("_delta_log/0.json", ".hidden/x", "data/_s=a/orphan.parquet", "data/_temporary/0", "data/.x.crc"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"x")
    search = OrphanSearch(older_than_ms=ALL)
    orphans = orphan_files(lake.environment, "lake", lake.load("p"), search)
    assert [same_place(path).removeprefix(f"{root}/") for path in orphans] == ["data/_s=a/orphan.parquet"]


@pytest.mark.parametrize("name", ["a\nb.parquet", "a\n/b.parquet", "a b#c?d%20.parquet", "é.parquet", " ", "\\"])
def test_odd_names_are_names(lake: Lake, name: str) -> None:
    put(lake, f"data/{name}")
    assert found(lake) == {f"data/{name}"}


def test_another_tables_folder_inside_is_left_alone(lake: Lake, tmp_path: Path) -> None:
    shutil.copytree(tmp_path / "db" / "t", tmp_path / "aside")
    shutil.move(tmp_path / "aside", tmp_path / "db" / "t" / "data" / "inner")
    put(lake, "data/inner/data/what.parquet")
    put(lake, "data/outer.parquet")
    assert found(lake) == {"data/outer.parquet"}


def test_another_tables_folder_inside_is_noticed_from_within(lake: Lake, tmp_path: Path) -> None:
    inner = tmp_path / "db" / "t" / "nested" / "db" / "x"
    shutil.copytree(tmp_path / "db" / "t", tmp_path / "aside")
    shutil.move(tmp_path / "aside", inner)
    (file,) = (inner / "data").glob("*.parquet")
    assert found(lake, location=str(inner / "data")) == set()
    assert found(lake, files=[FileStatus(f"file://{file}", 0, 0)]) == set()
    assert found(lake) == set()


def test_a_metadata_file_that_does_not_tell_whose_it_is_stays(lake: Lake) -> None:
    put(lake, "metadata/00007-broken.metadata.json", b"")
    put(lake, "metadata/00008-broken.gz.metadata.json", b"\x1f\x8b no")
    put(lake, "data/x")
    assert found(lake) == {"data/x"}


def test_the_metadata_of_a_table_must_be_known(lake: Lake) -> None:
    table = replace(lake.load(), metadata_location="")
    with refused("METADATA_FILE_UNKNOWN"):
        orphan_files(lake.environment, "lake", table, OrphanSearch(older_than_ms=ALL))


def test_a_table_with_the_same_metadata_folder_is_noticed(lake: Lake, tmp_path: Path) -> None:
    lake.create("CREATE TABLE other (id BIGINT)")
    (version,) = (tmp_path / "db" / "other" / "metadata").glob("v1.*")
    shutil.copy(version, tmp_path / "db" / "t" / "metadata" / "00000-other.metadata.json")
    with refused("FOLDER_OF_TWO_TABLES", "00000-other"):
        removed(lake)


def test_shared_files_are_left_alone(lake: Lake) -> None:
    lake.commit(ChangeProperties({"gc.enabled": "false"}))
    with refused("FILES_ARE_SHARED"):
        found(lake)


def test_only_a_place_of_the_table_is_looked_through(lake: Lake, tmp_path: Path) -> None:
    put(lake, "data/a/x")
    put(lake, "data/b/y")
    at = f"{lake.load().metadata.location}/data/a"
    assert found(lake, location=at) == {"data/a/x"}
    assert found(lake, location=to_local_path(at) + "/") == {"data/a/x"}
    for elsewhere in (str(tmp_path), str(tmp_path / "db" / "other"), f"{at}/../../../u"):
        with refused("LOCATION_NOT_OF_TABLE"):
            found(lake, location=elsewhere)


def test_files_can_be_given(lake: Lake) -> None:
    put(lake, "data/x")
    put(lake, "data/y")
    root = lake.load().metadata.location
    given = [
        FileStatus(f"{root}/data/y", 0, 5),
        FileStatus(f"{root}/data/gone", 0, 50),
        FileStatus("/etc/passwd", 0, 5),
    ]
    assert found(lake, files=given, older_than_ms=10) == {"data/y"}
    live = lake.files()[0].file_path
    assert found(lake, files=[FileStatus(live, 0, 0)]) == set()


def test_a_folder_beside_the_tables_is_looked_through_if_it_is_named(tmp_path: Path) -> None:
    """Other tables may have their files there, which nothing tells apart."""
    lake = Lake(tmp_path)
    for table in ("t", "other"):
        lake.create(f"CREATE TABLE {table} (id BIGINT) TBLPROPERTIES ('write.data.path'='{tmp_path}/beside')")
        lake.append(table, id=[1])
    assert removed(lake) == 0
    (other,) = (same_place(file.file_path) for file in lake.files("other"))
    search = OrphanSearch(older_than_ms=ALL, location=f"{tmp_path}/beside")
    assert [*map(same_place, orphan_files(lake.environment, "lake", lake.load(), search))] == [other]


def test_other_tables_share_a_data_folder(tmp_path: Path) -> None:
    """Files of another table are not told apart by their folder, but its folder is."""
    lake = Lake(tmp_path)
    lake.create("CREATE TABLE other (id BIGINT)")
    lake.append("other", id=[1])
    data = tmp_path / "db" / "other" / "data"
    lake.create(f"CREATE TABLE t (id BIGINT) TBLPROPERTIES ('write.data.path'='{data}')")
    lake.append(id=[1])
    assert removed(lake) == 0
    assert lake.rows("other") == [(1,)]


def test_links_lead_to_needed_files(lake: Lake, tmp_path: Path) -> None:
    """A file is needed by the place to which its location leads."""
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "db")
    (file,) = lake.files()
    path = Path(to_local_path(file.file_path))
    real = put(lake, "data/real.parquet", path.read_bytes())
    pointing = put(lake, "data/pointing.parquet")
    pointing.unlink()
    pointing.symlink_to(real)
    through = replace(file, file_path=f"file://{link}/t/data/{path.name}")
    lake.append(id=[3], s=["c"])
    lake.commit(AppendFiles((replace(through, file_path=f"file://{link}/t/data/pointing.parquet"),)))
    assert found(lake) == set()


def test_a_link_is_removed_and_not_where_it_leads(lake: Lake, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"x")
    link = put(lake, "data/link")
    link.unlink()
    link.symlink_to(precious)
    folder = put(lake, "data/folder")
    folder.unlink()
    folder.symlink_to(tmp_path / "db")
    assert removed(lake) == 1
    assert precious.exists()
    assert not link.is_symlink()
    assert lake.rows() == [(1, "a"), (2, "b")]


def test_prefixes_that_differ_are_an_error(lake: Lake) -> None:
    (file,) = lake.files()
    path = to_local_path(file.file_path)
    lake.commit(AppendFiles((replace(file, file_path=f"hdfs://name:8020{path}-2"),)))
    put(lake, f"data/{Path(path).name}-2")
    with refused("PREFIX_MISMATCH", "hdfs://name:8020", "file://"):
        found(lake)
    assert found(lake, prefix_mismatch=PrefixMismatch.IGNORE) == set()
    assert found(lake, prefix_mismatch=PrefixMismatch.DELETE) == {f"data/{Path(path).name}-2"}
    equal = {"equal_schemes": {"hdfs, viewfs": "file"}, "equal_authorities": {"name:8020": ""}}
    assert found(lake, **equal) == set()


def test_versions_go_from_the_oldest_on(tmp_path: Path) -> None:
    """One that is missing between others would be made again by a writer that has its predecessor."""
    lake = Lake(tmp_path)
    lake.create("CREATE TABLE t (id BIGINT) TBLPROPERTIES ('write.metadata.previous-versions-max'='2')")
    for id in range(6):
        lake.append(id=[id])
    young = Path(to_local_path(lake.load().metadata.location)) / "metadata" / "v3.metadata.json"
    for version in young.parent.glob("v*.metadata.json"):
        os.utime(version, (100, 100))
    os.utime(young, (500, 500))
    assert found(lake, older_than_ms=200_000) == {"metadata/v1.metadata.json", "metadata/v2.metadata.json"}
    assert removed(lake, older_than_ms=200_000) == 2
    lake.append(id=[9])
    assert [row[0] for row in lake.rows()] == [0, 1, 2, 3, 4, 5, 9]


def test_a_commit_during_the_listing_is_needed(tmp_path: Path) -> None:
    io = _CommitsWhileListing()
    lake = Lake(tmp_path, io)
    lake.create(KEYED)
    lake.append(id=[1], s=["a"])
    io.commits = lambda: lake.append(id=[2], s=["b"])
    assert found(lake) == set()
    assert lake.rows() == [(1, "a"), (2, "b")]


def test_a_commit_after_the_listing_is_needed(tmp_path: Path) -> None:
    """Files that were there without being needed, and are committed while versions are read."""
    io = _CommitsWhileReading()
    lake = Lake(tmp_path, io)
    lake.create(KEYED)
    lake.append(id=[1], s=["a"])
    (file,) = lake.files()
    late = put(lake, "data/late.parquet", Path(to_local_path(file.file_path)).read_bytes())
    io.commits = lambda: lake.commit(AppendFiles((replace(file, file_path=f"file://{late}"),)))
    assert found(lake) == set()


def test_files_that_an_expiry_deletes_meanwhile_do_not_stop_it(tmp_path: Path) -> None:
    io = _CommitsWhileReading()
    lake = Lake(tmp_path, io)
    lake.create(KEYED)
    for number in range(3):
        lake.upsert(id=[1], s=[str(number)])
    orphan = put(lake, "data/orphan.parquet")

    def expire() -> None:
        expire_snapshots(lake.environment, "lake", lake.load(), ExpireSnapshots(older_than_ms=ALL, retain_last=1))

    io.commits = expire
    assert orphan in {
        Path(to_local_path(path))
        for path in orphan_files(lake.environment, "lake", lake.load(), OrphanSearch(older_than_ms=ALL))
    }
    assert io.commits is None
    assert lake.rows() == [(1, "2")]


class _CommitsWhileListing(LocalFileIO):
    commits: Any = None

    def list(self, prefix: str) -> Iterator[FileStatus]:
        for number, one in enumerate(super().list(prefix)):
            if number == 0 and self.commits is not None:
                self.commits, commit = None, self.commits
                commit()
            yield one


class _CommitsWhileReading(LocalFileIO):
    commits: Any = None

    def read(self, location: str) -> bytes:
        if self.commits is not None and "/snap-" in location:
            self.commits, commit = None, self.commits
            commit()
        return super().read(location)


def test_batches_that_a_stream_may_still_commit_are_needed(lake: Lake) -> None:
    """A killed query commits what it has staged when it starts again."""
    query_id = "0b5c6f52-9c5e-4f8f-a3a7-2f1d4b8f3f10"
    for batch_id in (3, 4, 5):
        file = put(lake, f"data/staged-{batch_id}.parquet")
        action = AppendFiles((replace(lake.files()[0], file_path=f"file://{file}"),))
        stage_batch(
            lake.catalog.io,
            lake.load().metadata,
            action,
            query_id=query_id,
            batch_id=batch_id,
            plan="p",
            how="h",
            token="00ff00ff00ff00ff",
        )
    assert found(lake) == set()
    lake.commit(AdvanceStream(query_id, None, StreamProgress("run", 4)))
    names = {Path(path).name.split("-")[-1] for path in found(lake) if path.startswith("data")}
    assert names == {"3.parquet", "4.parquet"}
    assert len(found(lake)) == 6


def test_a_damaged_snapshot_stops_it(lake: Lake) -> None:
    put(lake, "data/x")
    head = lake.load().metadata.current_snapshot()
    assert head is not None
    os.remove(to_local_path(head.manifest_list))
    fresh = Lake(Path(to_local_path(lake.load().metadata.location)).parents[1])
    before = files_below(Path(to_local_path(lake.load().metadata.location)))
    with refused("FILE_NOT_FOUND"):
        removed(fresh)
    assert files_below(Path(to_local_path(lake.load().metadata.location))) == before


def test_a_table_made_anew_is_not_taken_for_the_one_that_was_loaded(lake: Lake) -> None:
    table = lake.load()
    lake.catalog.drop_table(TableIdentifier(("db",), "t"), purge=False)
    lake.create(KEYED)
    with refused("CONCURRENT_CHANGE", "dropped and made anew"):
        orphan_files(lake.environment, "lake", table, OrphanSearch(older_than_ms=ALL))


def test_what_an_expiry_without_deletions_leaves_is_found(lake: Lake) -> None:
    """As another engine expires snapshots, or a killed expiry."""
    (before,) = lake.load().metadata.snapshots
    lake.upsert(id=[1, 2], s=["c", "c"])
    lake.expire(before.snapshot_id)
    assert found(lake) == {"metadata/" + before.manifest_list.rpartition("/")[2]}
