"""Position-delete files of a partition that become fewer."""

from __future__ import annotations

from pathlib import Path

import pytest

from small_tables import ids_read_by_pyiceberg, summary_of
from sqlext.command.compaction.merged_position_deletes import merge_position_deletes
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.scan.filter.file_filter import partition_key
from unit.command.lake import Lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path)
    made.create("CREATE TABLE t (id BIGINT, p STRING) PARTITIONED BY (p)")
    made.append(id=[1, 2, 3, 4], p=["a"] * 4)
    made.append(id=[11, 12, 13, 14], p=["a"] * 4)
    made.append(id=[21, 22, 23, 24], p=[None] * 4)
    for positions in ({0: [0]}, {0: [1]}, {1: [2]}, {1: [3]}, {2: [0]}, {2: [1]}):
        made.delete({made.files()[number].file_path: rows for number, rows in positions.items()})
    return made


def _delete_files(lake: Lake) -> int:
    return int(summary_of(lake.load()).get("total-delete-files", "0"))


@pytest.mark.parametrize(("granularity", "left"), [("partition", 1), ("file", 2)])
def test_files_of_the_named_partitions_become_one_or_one_for_each_data_file(
    lake: Lake, granularity: str, left: int
) -> None:
    lake.commit(ChangeProperties({"write.delete.granularity": granularity}))
    before = lake.rows()
    assert _delete_files(lake) == 6
    assert merge_position_deletes(lake.environment, lake.target(), {partition_key(lake.files()[0])})
    assert _delete_files(lake) == 2 + left, "those of the other partition stay"
    assert lake.rows() == before
    assert ids_read_by_pyiceberg(lake.load()) == [3, 4, 11, 12, 23, 24]


def test_they_stay_where_there_would_not_be_half_as_many(lake: Lake) -> None:
    others = partition_key(lake.files()[2])
    head = lake.load().metadata.current_snapshot_id
    lake.commit(ChangeProperties({"write.delete.granularity": "file"}))
    assert merge_position_deletes(lake.environment, lake.target(), {others}), "two of one data file become one"
    assert lake.load().metadata.current_snapshot_id != head
    head = lake.load().metadata.current_snapshot_id
    assert not merge_position_deletes(lake.environment, lake.target(), {others})
    assert lake.load().metadata.current_snapshot_id == head


def test_rows_of_data_files_that_are_gone_are_dropped(lake: Lake) -> None:
    path = lake.files()[1].file_path
    lake.delete({path: [0, 1]})
    assert merge_position_deletes(lake.environment, lake.target(), {partition_key(lake.files()[0])})
    summary = summary_of(lake.load())
    assert summary["total-position-deletes"] == "4", "of the first and the third data file"
    assert lake.rows() == [(23, None), (24, None), (3, "a"), (4, "a")]
