"""Equality deletes that become marks of the rows they hit."""

from __future__ import annotations

from pathlib import Path

import pytest

from small_tables import ids_read_by_pyiceberg, summary_of
from sqlext.command.compaction.equality_delete_conversion import convert_to_position_deletes
from unit.command.lake import Lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.mark.parametrize("version", [2, 3])
def test_rows_that_are_hit_are_marked_and_the_keys_go(lake: Lake, version: int) -> None:
    lake.create(f"CREATE TABLE t (id BIGINT, s STRING, PRIMARY KEY (id)) TBLPROPERTIES ('format-version'='{version}')")
    lake.append(id=[1, 2, 3], s=["a", "a", "a"])
    lake.append(id=[4], s=["a"])
    lake.delete({lake.files()[0].file_path: [1]})
    lake.upsert(id=[1, 2, 4, 9], s=["b", "b", "b", "b"])
    before = lake.rows()
    assert before == [(1, "b"), (2, "b"), (3, "a"), (4, "b"), (9, "b")]
    assert convert_to_position_deletes(lake.environment, lake.target())
    assert lake.rows() == before
    summary = summary_of(lake.load())
    assert summary["total-equality-deletes"] == "0"
    assert summary["total-position-deletes"] == "3", "a row that was marked before is not marked again"
    assert not any(task.has_equality_deletes for task in lake.tasks())
    if version == 2:
        assert ids_read_by_pyiceberg(lake.load()) == [1, 2, 3, 4, 9]
    head = lake.load().metadata.current_snapshot_id
    assert not convert_to_position_deletes(lake.environment, lake.target()), "there are none any more"
    assert lake.load().metadata.current_snapshot_id == head


def test_keys_that_hit_nothing_go_too(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT, PRIMARY KEY (id))")
    lake.append(id=[1])
    lake.upsert(id=[2])
    assert summary_of(lake.load())["total-equality-deletes"] == "1"
    assert convert_to_position_deletes(lake.environment, lake.target())
    summary = summary_of(lake.load())
    assert (summary["total-equality-deletes"], summary["total-position-deletes"]) == ("0", "0")
    assert lake.rows() == [(1,), (2,)]


def test_a_table_without_snapshots_has_none(lake: Lake) -> None:
    lake.create("CREATE TABLE t (id BIGINT, PRIMARY KEY (id))")
    assert not convert_to_position_deletes(lake.environment, lake.target())
    lake.append(id=[1])
    assert not convert_to_position_deletes(lake.environment, lake.target())
