"""Expiry of snapshots: what goes, what stays, and what an expiry that does not land leaves as it was."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from small_tables import files_below, rows_of
from sqlext.catalog.catalog_settings import open_catalog
from sqlext.command.maintenance import expiry
from sqlext.command.maintenance.expiry import expirable_files, expire_snapshots
from sqlext.command.maintenance.orphan_files import OrphanSearch, orphan_files
from sqlext.command.maintenance.unreachable_files import unreachable_files
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.consumer import Consumer, MoveConsumer
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.reference_change import CreateReference
from sqlext.commit.actions.schema_change import ChangeSchema
from sqlext.commit.actions.snapshot_expiry import ExpireSnapshots
from sqlext.commit.actions.spec_change import AddField, ChangeSpec, DropField, FieldTerm
from sqlext.errors import AlreadyExistsError, StorageError
from sqlext.spec.manifests.content_file import Content
from sqlext.spec.schema_change import AddColumn, DropColumn, RenameColumn
from sqlext.spec.transform import IdentityTransform
from sqlext.spec.types import LongType
from sqlext.storage.file_io import LocalFileIO
from sqlext.storage.location import to_local_path, to_location
from unit.command.lake import Lake, refused
from unit.command.maintenance.random_history import RandomHistory, needed, stored

NEVER = 10**15
KEYED = "CREATE TABLE t (id BIGINT, s STRING, PRIMARY KEY (id))"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def expire(lake: Lake, **given: Any) -> list[int]:
    """Numbers of deleted data, position-delete and equality-delete files, manifests, manifest lists, statistics."""
    files = expire_snapshots(lake.environment, "lake", lake.load(), ExpireSnapshots(**given))
    of_kinds = (files.content_files(kind) for kind in Content)
    return [*of_kinds, files.manifests, files.manifest_lists, files.statistics_files]


def snapshot_ids(lake: Lake) -> list[int]:
    return [one.snapshot_id for one in lake.load().metadata.snapshots]


@pytest.mark.parametrize("seed", range(24))
def test_random_histories_keep_what_they_need_and_nothing_else(tmp_path: Path, seed: int) -> None:
    history = RandomHistory(tmp_path, seed)
    for _ in range(4):
        for _ in range(6):
            history.step()
        metadata = history.lake.load().metadata
        now_ms = history.lake.clock.now_ms
        named = [one.snapshot_id for one in metadata.snapshots]
        heads = {ref.snapshot_id for ref in metadata.refs.values()}
        free = [id for id in named if id not in heads]
        action = ExpireSnapshots(
            older_than_ms=history.rng.choice([None, 0, NEVER, now_ms - 7_200_000]),
            retain_last=history.rng.choice([None, 1, 3]),
            snapshot_ids=frozenset(history.rng.sample(free, min(len(free), history.rng.choice([0, 0, 1])))),
            clean_definitions=history.rng.choice([True, False]),
        )
        environment, table = history.lake.environment, history.lake.load()
        expected = expirable_files(environment, "lake", table, action)
        assert expire_snapshots(environment, "lake", table, action).paths == expected, f"seed {seed}"
        history.require_kept()
        table = history.lake.load()
        assert needed(table) == stored(table), f"seed {seed}"


def test_counts_by_kind(lake: Lake) -> None:
    lake.create(KEYED)
    lake.append(id=[1, 2], s=["a", "a"])
    lake.upsert(id=[1], s=["b"])
    path = lake.files()[0].file_path
    lake.delete({path: [1]})
    assert expire(lake, older_than_ms=NEVER) == [0, 0, 0, 0, 2, 0]
    assert lake.rows() == [(1, "b")]


def test_without_anything_to_expire_there_is_no_commit(lake: Lake) -> None:
    lake.create(KEYED)
    lake.append(id=[1], s=["a"])
    before = lake.load()
    assert expire(lake) == [0] * 6
    assert lake.load().metadata_location == before.metadata_location


def test_an_empty_table_has_nothing_to_expire(lake: Lake) -> None:
    lake.create(KEYED)
    assert expire(lake, older_than_ms=NEVER) == [0] * 6


def test_shared_files_stay(lake: Lake) -> None:
    lake.create(KEYED)
    lake.append(id=[1], s=["a"])
    lake.append(id=[2], s=["a"])
    lake.commit(ChangeProperties({"gc.enabled": "false"}))
    with refused("FILES_ARE_SHARED", "gc.enabled"):
        expire(lake, older_than_ms=NEVER)
    assert len(snapshot_ids(lake)) == 2


def test_a_snapshot_in_use_is_not_expired_by_its_id(lake: Lake) -> None:
    lake.create(KEYED)
    first = lake.append(id=[1], s=["a"]).metadata.current_snapshot_id
    lake.append(id=[2], s=["a"])
    lake.commit(CreateReference("kept", "tag", first))
    with refused("SNAPSHOT_IN_USE", "the tag kept"):
        expire(lake, snapshot_ids=frozenset({first}))
    with refused("SNAPSHOT_NOT_FOUND", "42"):
        expire(lake, snapshot_ids=frozenset({42}))


def test_a_consumer_protects_its_snapshot_until_it_expires(lake: Lake) -> None:
    lake.create(KEYED)
    first = lake.append(id=[1], s=["a"]).metadata.current_snapshot_id
    lake.append(id=[2], s=["a"])
    lake.append(id=[3], s=["a"])
    now_ms = lake.clock()
    lake.commit(MoveConsumer("c", Consumer(first, first, now_ms)))
    lake.commit(ChangeProperties({"consumer.expiration-time": "1 d", "history.expire.max-ref-age-ms": "1"}))
    lake.clock.now_ms += 1000
    expire(lake, older_than_ms=NEVER)
    assert first in snapshot_ids(lake)
    lake.clock.now_ms += 86_400_000
    expire(lake, older_than_ms=NEVER)
    assert len(snapshot_ids(lake)) == 1
    # A consumer that comes back finds its position in the table, and its snapshot gone.
    assert "sqlext.consumer.c" in lake.load().metadata.properties
    assert "sqlext-consumer-c" not in lake.load().metadata.refs


DAY_MS = 86_400_000


def _behind(lake: Lake, consumer: Consumer) -> list[int]:
    """Four snapshots, of which the consumer has read one."""
    lake.create(KEYED)
    ids = [int(str(lake.append(id=[id], s=["a"]).metadata.current_snapshot_id)) for id in range(4)]
    lake.commit(MoveConsumer("c", replace(consumer, snapshot_id=ids[0], needed_id=ids[0], updated_ms=lake.clock())))
    return ids


@pytest.mark.parametrize("is_query", [False, True])
def test_what_a_consumer_has_yet_to_read_stays(lake: Lake, is_query: bool) -> None:
    ids = _behind(lake, Consumer(None, None, 0, is_query=is_query))
    lake.clock.now_ms += 5 * DAY_MS - 1000
    done = expire_snapshots(lake.environment, "lake", lake.load(), ExpireSnapshots(older_than_ms=NEVER))
    assert done.told == "0 snapshots, 0 files; 3 kept for consumer c"
    with refused("SNAPSHOT_IN_USE", "the consumer c needs it", "drop the consumer"):
        expire(lake, snapshot_ids=frozenset({ids[1]}))
    assert snapshot_ids(lake) == ids


def test_a_consumer_that_is_silent_for_long_keeps_its_position_alone(lake: Lake) -> None:
    ids = _behind(lake, Consumer(None, None, 0))
    lake.clock.now_ms += 5 * DAY_MS + 1000
    expire(lake, older_than_ms=NEVER)
    assert snapshot_ids(lake) == [ids[0], ids[3]]


def test_a_query_without_a_name_that_is_silent_for_long_is_gone(lake: Lake) -> None:
    ids = _behind(lake, Consumer(None, None, 0, query="nightly", is_query=True))
    lake.clock.now_ms += 5 * DAY_MS + 1000
    expire(lake, older_than_ms=NEVER)
    assert snapshot_ids(lake) == [ids[3]]
    assert "sqlext.consumer.c" not in lake.load().metadata.properties
    assert "sqlext-consumer-c" not in lake.load().metadata.refs


def test_a_consumer_that_cannot_be_read_does_not_stop_an_expiry(lake: Lake) -> None:
    ids = _behind(lake, Consumer(None, None, 0))
    lake.commit(ChangeProperties({"sqlext.consumer.c": "{"}))
    expire(lake, older_than_ms=NEVER)
    assert snapshot_ids(lake) == [ids[0], ids[3]], "its tag keeps its position"


def test_unused_definitions_go(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT, s STRING) PARTITIONED BY (s)")
    lake.append(id=[1], s=["a"])
    lake.commit(ChangeSpec((DropField(FieldTerm(("s",), IdentityTransform())),)))
    lake.append(id=[2], s=["a"])
    lake.commit(ChangeSchema((AddColumn(("n",), LongType()),)))
    expire(lake, older_than_ms=NEVER, clean_definitions=True)
    metadata = lake.load().metadata
    assert len(metadata.partition_specs) == 2, "a live file is of the first spec"
    assert len(metadata.schemas) == 2, "the snapshot has the first schema"
    lake.commit(OverwriteFiles((), delete_all=True))
    lake.append(id=[3], s=["a"], n=[1])
    expire(lake, older_than_ms=NEVER, clean_definitions=True)
    metadata = lake.load().metadata
    assert metadata.partition_specs == (metadata.spec(),)
    assert metadata.schemas == (metadata.schema(),)
    assert lake.rows() == [(3, "a", 1)]


def test_a_schema_stays_while_a_partition_field_needs_it(lake: Lake) -> None:
    """The type of the values of a partition whose column was dropped is in an old schema alone."""
    lake.create("CREATE TABLE t (id BIGINT, s STRING) PARTITIONED BY (s)")
    lake.append(id=[1], s=["a"])
    lake.commit(ChangeSpec((DropField(FieldTerm(("s",), IdentityTransform())),)))
    lake.commit(ChangeSchema((DropColumn(("s",)),)))
    lake.append(id=[2])
    expire(lake, older_than_ms=NEVER, clean_definitions=True)
    metadata = lake.load().metadata
    assert [one.field_or_none(2) is not None for one in metadata.schemas] == [True, False]
    assert sorted(row["id"] for row in rows_of(lake.load())) == [1, 2]


def test_files_of_a_removed_spec_are_not_committed(lake: Lake) -> None:
    """A writer has written its files before the spec went that they are of."""
    lake.create("CREATE TABLE t (id BIGINT, s STRING) PARTITIONED BY (s)")
    late = lake.append(id=[1], s=["a"])
    (file,) = lake.files()
    lake.commit(OverwriteFiles((), delete_all=True))
    lake.commit(ChangeSpec((DropField(FieldTerm(("s",), IdentityTransform())),)))
    lake.append(id=[2], s=["a"])
    expire(lake, older_than_ms=NEVER, clean_definitions=True)
    with refused("CONCURRENT_CHANGE", "partition spec 0"):
        lake.environment.commit("lake", late, AppendFiles((file,)))


def test_the_id_of_a_spec_is_not_given_to_another_one(lake: Lake) -> None:
    """A late writer's files would be taken for ones of the other spec."""
    by_id, by_s = (FieldTerm((name,), IdentityTransform()) for name in ("id", "s"))
    lake.create("CREATE TABLE t (id BIGINT, s STRING)")
    lake.commit(ChangeSpec((AddField(by_id),)))
    late = lake.append(id=[1], s=["a"])
    (file,) = lake.files()
    lake.commit(OverwriteFiles((), delete_all=True))
    lake.commit(ChangeSpec((DropField(by_id),)))
    lake.append(id=[2], s=["a"])
    expire(lake, older_than_ms=NEVER, clean_definitions=True)
    lake.commit(ChangeSpec((AddField(by_s),)))
    metadata = lake.load().metadata
    assert metadata.default_spec_id not in (file.spec_id, 0)
    # As if another engine had given it the id.
    taken = replace(metadata.spec(), spec_id=file.spec_id)
    reused = replace(metadata, partition_specs=(metadata.partition_specs[0], taken), default_spec_id=file.spec_id)
    lake.catalog.commit(lake.load().identifier, lake.load(), reused)
    with refused("CONCURRENT_CHANGE", f"partition spec {file.spec_id}"):
        lake.environment.commit("lake", late, AppendFiles((file,)))


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ([AddColumn(("n",), LongType())], 1),
        ([DropColumn(("s",)), AddColumn(("s",), LongType())], 2),
        ([AddColumn(("p", "z"), LongType())], 2),
        ([RenameColumn(("s",), "t")], 2),
    ],
)
def test_a_schema_stays_while_readers_need_what_it_tells(lake: Lake, changes: list[Any], kept: int) -> None:
    """That a name was another column's, and with which fields a struct was made."""
    lake.create("CREATE TABLE t (id BIGINT, s STRING, p STRUCT<y: BIGINT>)")
    lake.append(id=[1])
    for change in changes:
        lake.commit(ChangeSchema((change,)))
    lake.append(id=[2])
    expire(lake, older_than_ms=NEVER, clean_definitions=True)
    assert len(lake.load().metadata.schemas) == kept


def test_a_file_is_live_however_its_location_is_spelled(lake: Lake) -> None:
    """Iceberg's Hadoop files begin with `file:/`, sqlext's with `file:///`."""
    lake.create("CREATE TABLE t (id BIGINT)")
    lake.append(id=[1])
    (file,) = lake.files()
    lake.commit(OverwriteFiles((), delete_all=True))
    other = "file:" + to_local_path(file.file_path)
    assert other != file.file_path
    lake.commit(AppendFiles((replace(file, file_path=other),)))
    assert expire(lake, older_than_ms=NEVER)[0] == 0
    assert lake.rows() == [(1,)]


def test_a_failure_after_the_commit_leaves_orphan_files(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The expiry has landed, so the statement does not fail."""
    lake.create(KEYED)
    for id in range(3):
        lake.append(id=[id], s=["a"])
    late = lake.load()
    lake.append(id=[3], s=["a"])
    calls = []

    def fails(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 2:
            raise StorageError("STORAGE_FAILURE", operation="Reading", path="x", reason="no answer")
        return unreachable_files(*arguments)

    monkeypatch.setattr(expiry, "unreachable_files", fails)
    done = expire_snapshots(lake.environment, "lake", late, ExpireSnapshots(older_than_ms=NEVER))
    assert (done.snapshots, done.paths) == (3, frozenset())
    assert [row[0] for row in lake.rows()] == [0, 1, 2, 3]


def test_nothing_changes_if_a_remaining_snapshot_cannot_be_read(lake: Lake, tmp_path: Path) -> None:
    lake.create(KEYED)
    for id in range(3):
        lake.append(id=[id], s=["a"])
    head = lake.load().metadata.current_snapshot()
    assert head is not None
    os.rename(to_local_path(head.manifest_list), tmp_path / "aside")
    fresh = Lake(tmp_path)
    before = files_below(tmp_path)
    with refused("FILE_NOT_FOUND"):
        expire(fresh, older_than_ms=NEVER)
    assert files_below(tmp_path) == before
    assert len(snapshot_ids(fresh)) == 3


def test_what_an_expired_snapshot_has_lost_does_not_stop_it(lake: Lake) -> None:
    lake.create(KEYED)
    for id in range(3):
        lake.append(id=[id], s=["a"])
    first = lake.load().metadata.snapshots[0]
    os.remove(to_local_path(first.manifest_list))
    expire(lake, older_than_ms=NEVER)
    assert len(snapshot_ids(lake)) == 1
    assert [row[0] for row in lake.rows()] == [0, 1, 2]


def test_a_commit_that_comes_first_is_not_harmed(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process appends between the look at the files and the commit of the expiry."""
    lake.create(KEYED)
    for id in range(3):
        lake.append(id=[id], s=["a"])
    table = lake.load()
    lake.append(id=[3], s=["a"])
    files = expire_snapshots(lake.environment, "lake", table, ExpireSnapshots(older_than_ms=NEVER))
    assert files.manifest_lists == 3
    assert [row[0] for row in lake.rows()] == [0, 1, 2, 3]
    assert needed(lake.load()) == stored(lake.load())


def test_files_elsewhere_stay(tmp_path: Path) -> None:
    """Metadata can name any file; only those in the table's folders are its to delete."""
    outside = tmp_path / "outside"
    lake = Lake(tmp_path / "lake")
    lake.create(f"CREATE TABLE t (id BIGINT, s STRING) TBLPROPERTIES ('write.data.path'='{outside}')")
    lake.append(id=[1], s=["a"])
    before = files_below(outside)
    assert before
    lake.delete({lake.files()[0].file_path: [0]})
    assert lake.rows() == []
    lake.commit(OverwriteFiles((), delete_all=True))
    expire(lake, older_than_ms=NEVER)
    assert before <= files_below(outside)


def test_a_transaction_expires_nothing(lake: Lake) -> None:
    lake.create(KEYED)
    lake.append(id=[1], s=["a"])
    lake.append(id=[2], s=["a"])
    lake.environment.transactions.begin("s")
    within = lake.environment.within("s")
    with refused("NOT_IN_TRANSACTION"):
        expire_snapshots(within, "lake", lake.load(), ExpireSnapshots(older_than_ms=NEVER))
    assert len(snapshot_ids(lake)) == 2


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_killed_expiry_runs_again(tmp_path: Path, when: str) -> None:
    """Killed at each deletion in turn, another call or the removal of orphan files finds what is left."""
    killed = _Killed(when)
    lake = Lake(tmp_path, killed)
    lake.create(KEYED)
    for id in range(3):
        lake.append(id=[id], s=["a"])
    lake.upsert(id=[0, 1, 2], s=["b", "b", "b"])
    killed.armed = True
    with pytest.raises(KeyboardInterrupt):
        expire(lake, older_than_ms=NEVER)
    killed.armed = False
    assert len(snapshot_ids(lake)) == 1
    assert lake.rows() == [(0, "b"), (1, "b"), (2, "b")]
    assert needed(lake.load()) <= stored(lake.load())


class _Killed(LocalFileIO):
    def __init__(self, when: str) -> None:
        self.when = when
        self.armed = False

    def delete(self, location: str, *, confirm: Callable[[], None] | None = None) -> None:
        if not self.armed:
            return super().delete(location, confirm=confirm)
        if self.when == "after":
            super().delete(location, confirm=confirm)
        raise KeyboardInterrupt


def test_what_stays_in_a_folder_that_is_not_the_catalogs_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A table outside of the warehouse: nothing there is deleted unless a setting names the folder, and nobody should
    take the silence for a clean table."""
    elsewhere = tmp_path / "elsewhere"
    settings = {"type": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/c.db", "warehouse": str(tmp_path / "warehouse")}
    for allowed in ({}, {"allowed-locations": str(elsewhere)}):
        catalog = open_catalog("lake", {**settings, **allowed})
        with suppress(AlreadyExistsError):
            catalog.create_namespace(("db",), {"location": to_location(elsewhere)})
        lake = Lake(tmp_path, catalog=catalog)
        if not allowed:
            lake.create(KEYED)
        for number in range(3):
            lake.append(id=[number], s=["x"])
        caplog.clear()
        files = expire_snapshots(lake.environment, "lake", lake.load(), ExpireSnapshots(older_than_ms=NEVER))
        search = OrphanSearch(older_than_ms=NEVER)
        if allowed:
            assert files.manifest_lists > 0
            assert "not the catalog's to delete" not in caplog.text
            assert orphan_files(lake.environment, "lake", lake.load(), search)
        else:
            assert files.paths == frozenset()
            assert f"files in {to_location(elsewhere)}/t are not the catalog's to delete" in caplog.text
            with refused("UNSUPPORTED_CATALOG_OPERATION"):
                orphan_files(lake.environment, "lake", lake.load(), search)
