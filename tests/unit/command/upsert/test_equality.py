"""Upserts of rows that the driver has, by equality deletes of their keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from small_tables import summary_of
from sqlext.command.outcome import Counts
from sqlext.command.upsert.equality import as_updates, upsert_given
from sqlext.commit.actions.spec_change import AddField, ChangeSpec, FieldTerm
from sqlext.spec.manifests.content_file import Content
from sqlext.spec.transform import IdentityTransform
from sqlext.write.row_operation import UPDATE
from unit.command.lake import Lake, refused, rows_for


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def _upsert(lake: Lake, ids: list[int], s: str, *, distinct_keys: bool = False) -> Counts:
    target = lake.target()
    rows = rows_for(target, id=ids, s=[s] * len(ids))
    return upsert_given(lake.environment, target, rows, distinct_keys=distinct_keys)


@pytest.mark.parametrize("version", [2, 3])
def test_new_rows_take_the_place_of_those_of_their_keys(lake: Lake, version: int) -> None:
    lake.create(f"CREATE TABLE t (id INT, s STRING, PRIMARY KEY (id)) TBLPROPERTIES ('format-version'='{version}')")
    assert _upsert(lake, [1, 2, 3], "a") == Counts(None, None, 0, affected=3)
    assert _upsert(lake, [2, 4], "b") == Counts(None, None, 0, affected=2)
    assert _upsert(lake, [2], "c") == Counts(None, None, 0, affected=1)
    assert lake.rows() == [(1, "a"), (2, "c"), (3, "a"), (4, "b")]
    files = [one.file for one in lake.environment.scans.live_entries(lake.target().version)]
    assert {file.equality_ids for file in files if file.content == Content.EQUALITY_DELETES} == {(1,)}


def test_no_rows_make_no_snapshot(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id INT, s STRING, PRIMARY KEY (id))")
    assert _upsert(lake, [], "a") == Counts(0, 0, 0, affected=0)
    assert lake.load().metadata.current_snapshot_id is None


def test_a_key_that_comes_twice_is_refused_where_it_is_asked(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id INT, s STRING, PRIMARY KEY (id))")
    with refused("DUPLICATE_KEY", '{"id": 1}'):
        _upsert(lake, [1, 2, 1], "a", distinct_keys=True)
    assert lake.load().metadata.current_snapshot_id is None


def test_deletes_are_in_the_partitions_of_their_rows(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id INT, p STRING, PRIMARY KEY (id, p)) PARTITIONED BY (p)")
    lake.append(id=[1, 1], p=["a", "b"])
    lake.upsert(id=[1], p=["a"])
    assert lake.rows() == [(1, "a"), (1, "b")]
    summary = summary_of(lake.load())
    assert summary["changed-partition-count"] == "1"


def test_a_partition_that_the_key_does_not_tell_is_refused(lake: Lake) -> None:
    """A row would stay in the partition that it was in before."""
    lake.create("CREATE TABLE t (id INT, s STRING, PRIMARY KEY (id))")
    lake.commit(ChangeSpec((AddField(FieldTerm(("s",), IdentityTransform())),)))
    with refused("UPSERT_PARTITION_NOT_IN_KEY", "lake.db.t", "s"):
        _upsert(lake, [1], "a")


def test_the_operation_stands_before_the_columns(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id INT, s STRING, PRIMARY KEY (id))")
    changes = as_updates(rows_for(lake.target(), id=[1, 2], s=["a", None]))
    assert changes.column_names == ["__operation", "id", "s"]
    assert changes.column("__operation").to_pylist() == [UPDATE, UPDATE]
