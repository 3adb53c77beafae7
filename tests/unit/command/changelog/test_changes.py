"""Change feeds: which snapshots are told between two places of a table's history, and by which files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sqlext.command.changelog.changes import ChangeFeed
from sqlext.commit.actions.reference_change import CreateReference
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.sql.lowering.changes import ChangeStep
from unit.command.lake import NAMESPACE, Lake, refused

TABLE = ("lake", *NAMESPACE, "t")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.fixture
def feed(lake: Lake) -> ChangeFeed:
    return ChangeFeed(lake.environment)


def _changed(lake: Lake, version: int = 2, properties: str = "") -> list[Snapshot]:
    """Three snapshots: of two files of rows, of a row of the first that goes, and of the second file that goes."""
    stored = f"TBLPROPERTIES ('format-version'='{version}'{properties})"
    lake.create(f"CREATE TABLE t (id BIGINT, p STRING, PRIMARY KEY (id, p)) PARTITIONED BY (p) {stored}")
    lake.append(id=[1, 2, 3], p=["a", "a", "b"])
    first, second = (file.file_path for file in sorted(lake.files(), key=lambda file: file.partition))
    lake.delete({first: [0]})
    lake.delete({second: [0]})
    return list(lake.load().metadata.snapshots)


def _told(feed: ChangeFeed, **given: Any) -> set[tuple[int, int]]:
    """The steps that a feed tells: their numbers and snapshots."""
    text = feed.sql({"table": TABLE, "from": None, "to": None, "mode": None, **given})
    found = re.findall(r" (\d+) AS `_change_ordinal`, (\d+)L AS `_commit_snapshot_id`", text)
    return {(int(ordinal), int(snapshot)) for ordinal, snapshot in found}


def _steps(
    lake: Lake, feed: ChangeFeed, start: Snapshot | None, end: Snapshot | None, net: bool = False
) -> Sequence[ChangeStep]:
    handle, metadata = feed.table(TABLE)
    return feed.steps(handle, metadata, start, end, net=net)


@pytest.mark.parametrize("version", [2, 3])
def test_a_step_names_the_files_that_differ(lake: Lake, feed: ChangeFeed, version: int) -> None:
    one, two, three = _changed(lake, version)
    added, touched, removed = _steps(lake, feed, None, three)
    assert added.before is None
    assert len(added.added) == 2
    assert (added.removed, added.touched) == ((), ())
    assert touched.before == added.after
    assert len(touched.touched) == 1
    assert not touched.added
    assert not touched.removed
    assert list(removed.removed) == sorted(set(added.added) - set(touched.touched))
    assert [step.snapshot_id for step in (added, touched, removed)] == [
        one.snapshot_id,
        two.snapshot_id,
        three.snapshot_id,
    ]
    file = lake.load().metadata_location.rpartition("/")[2]
    assert removed.after == f"`lake`.`db`.`t` VERSION AS OF '@/{three.snapshot_id}/{file}'"


def test_what_a_snapshot_brought_is_told_after_the_one_before_it_has_gone(lake: Lake, feed: ChangeFeed) -> None:
    lake.create("CREATE TABLE t (id BIGINT)")
    lake.append(id=[1])
    lake.append(id=[2])
    old, new = lake.files()
    first, second = lake.load().metadata.snapshots
    lake.expire(first.snapshot_id)
    handle, _ = feed.table(TABLE)
    step = feed.append_step(handle, second, 7)
    assert (list(step.added), step.ordinal, step.before) == ([new.file_path], 7, None)
    assert old.file_path != new.file_path


def test_places_between_which_changes_are_told(lake: Lake, feed: ChangeFeed) -> None:
    snapshots = _changed(lake)
    one, two, three = (snapshot.snapshot_id for snapshot in snapshots)
    lake.commit(CreateReference("v1", "tag", one))
    assert _told(feed) == {(0, one), (1, two), (2, three)}
    for place in (
        {"version": str(one)},
        {"snapshot_id": one},
        {"tag": "v1"},
        {"at_timestamp": snapshots[0].timestamp_ms},
    ):
        assert _told(feed, **{"from": place}) == {(0, two), (1, three)}, place
    assert _told(feed, to={"tag": "v1"}) == {(0, one)}
    assert _told(feed, **{"from": {"snapshot_id": one}, "to": {"snapshot_id": two}}) == {(0, two)}
    assert _told(feed, mode="NET", **{"from": {"snapshot_id": one}}) == {(0, three)}
    # A place is no change to itself.
    (nothing,) = _steps(lake, feed, snapshots[2], snapshots[2])
    assert (nothing.added, nothing.removed, nothing.touched) == ((), (), ())


def test_a_branch_is_told_from_its_beginning(lake: Lake, feed: ChangeFeed) -> None:
    one = _changed(lake)[0]
    lake.commit(CreateReference("audit", "branch", one.snapshot_id))
    lake.append("t", "branch_audit", id=[9], p=["a"])
    head = lake.load().metadata.refs["audit"].snapshot_id
    on_branch = (*TABLE, "branch_audit")
    assert _told(feed, table=on_branch) == {(0, one.snapshot_id), (1, head)}
    assert head not in {snapshot for _, snapshot in _told(feed)}


def test_an_empty_table_has_no_changes(lake: Lake, feed: ChangeFeed) -> None:
    lake.create("CREATE TABLE t (id BIGINT, `b.c` STRING)")
    text = feed.sql({"table": TABLE, "from": {"snapshot_id": 1}, "to": None, "mode": None})
    assert "WHERE false" in text
    view = feed.view(TABLE)
    assert [field.name for field in view.schema.fields][:2] == ["id", "b.c"]
    assert "`b.c`" in view.sql


def test_what_is_refused(lake: Lake, feed: ChangeFeed) -> None:
    one, two, three = (snapshot.snapshot_id for snapshot in _changed(lake))
    arguments = {"table": TABLE, "from": None, "to": None, "mode": None}
    with refused("CHANGES_ARGUMENTS", "too many"):
        feed.sql({"refused": "too many"})
    with refused("CHANGES_MODE_INVALID", "every"):
        feed.sql({**arguments, "mode": "every"})
    for part in ("files", f"snapshot_id_{one}"):
        with refused("CHANGES_OF_NO_TABLE", part):
            feed.sql({**arguments, "table": (*TABLE, part)})
    with refused("SNAPSHOT_NOT_FOUND", "42"):
        feed.sql({**arguments, "from": {"snapshot_id": 42}})
    with refused("CHANGES_NOT_BEHIND", str(three), str(two)):
        feed.sql({**arguments, "from": {"snapshot_id": three}, "to": {"snapshot_id": two}})
    lake.commit(CreateReference("old", "tag", one))
    lake.expire(two)
    with refused("CHANGES_EXPIRED", str(one), str(three)):
        feed.sql({**arguments, "from": {"tag": "old"}})


def test_a_table_read_by_its_path_has_no_feed(lake: Lake, feed: ChangeFeed) -> None:
    lake.create("CREATE TABLE t (id BIGINT)")
    handle, _ = feed.table(TABLE)
    with refused("TABLE_OR_VIEW_NOT_FOUND"):
        feed.nothing(replace(handle, catalog=None))


def test_stored_changelogs_are_read_where_they_are(lake: Lake, feed: ChangeFeed) -> None:
    """A file that another engine has removed is told by the data files instead."""
    snapshots = _changed(lake, properties=", 'changelog-producer'='lookup'")
    added, deleted, removed = _steps(lake, feed, None, snapshots[2])
    assert added.stored is None
    for step in (deleted, removed):
        assert step.stored is not None
        assert f"'@/{step.snapshot_id}/changelog/" in step.stored
    (net,) = _steps(lake, feed, snapshots[0], snapshots[2], net=True)
    assert [part.stored for part in net.parts] == [deleted.stored, removed.stored]
    assert net.snapshot_id == snapshots[2].snapshot_id
    id = snapshots[2].summary["sqlext.changelog"]
    io = lake.catalog.io
    io.delete(f"{lake.load().metadata.location}/_changelog/snap-{id}.avro")
    _, deleted, removed = _steps(lake, feed, None, snapshots[2])
    assert deleted.stored is not None
    assert removed.stored is None
    assert len(removed.removed) == 1


def test_the_difference_of_two_places_is_found_in_the_files_without_changelogs(lake: Lake, feed: ChangeFeed) -> None:
    snapshots = _changed(lake)
    (net,) = _steps(lake, feed, snapshots[0], snapshots[2], net=True)
    assert not net.parts
    assert (len(net.added), len(net.removed), len(net.touched)) == (0, 1, 1)
