"""What a table says of a change: the mode of its verb, and its size by the summary of its snapshot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sqlext.command.change.change_facts import facts_of
from sqlext.command.plan.facts import Mode, TargetSize
from sqlext.properties import DELETE_MODE, MERGE_MODE, UPDATE_MODE
from unit.command.lake import Lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.mark.parametrize(
    ("properties", "mode"),
    [
        ("", Mode("write.merge.mode", "merge-on-read", False)),
        ("'write.merge.mode'='merge-on-read'", Mode("write.merge.mode", "merge-on-read", True)),
        ("'write.merge.mode'='copy-on-write'", Mode("write.merge.mode", "copy-on-write", True)),
        # `auto` is stored under a name of our own, since Iceberg's runtime does not know it.
        ("'write.merge.mode'='auto'", Mode("write.merge.mode", "auto", True)),
        ("'write.delete.mode'='copy-on-write'", Mode("write.merge.mode", "merge-on-read", False)),
    ],
)
def test_the_mode_is_that_of_the_verb(lake: Lake, properties: str, mode: Mode) -> None:
    lake.create(f"CREATE TABLE t (id BIGINT) {properties and f'TBLPROPERTIES ({properties})'}")
    assert facts_of(lake.target(), MERGE_MODE).mode == mode


@pytest.mark.parametrize("version", [1, 2, 3])
def test_the_size_is_that_of_the_snapshot(lake: Lake, version: int) -> None:
    lake.create(f"CREATE TABLE t (id BIGINT) TBLPROPERTIES ('format-version'='{version}')")
    assert facts_of(lake.target(), DELETE_MODE).target == TargetSize(0, 0)
    lake.append(id=[1, 2, 3])
    facts = facts_of(lake.target(), DELETE_MODE)
    assert facts.format_version == version
    assert facts.target == TargetSize(lake.files()[0].file_size_in_bytes, 3)


def test_a_summary_that_tells_no_size_is_no_error(lake: Lake) -> None:
    """Iceberg's specification leaves all of a summary but the operation to the writer."""
    lake.create("CREATE TABLE t (id BIGINT)")
    lake.append(id=[1])
    target = lake.target()
    assert target.version.snapshot is not None
    summary = {"operation": "append", "total-files-size": "-1", "total-records": "many"}
    snapshot = replace(target.version.snapshot, summary=summary)
    target = replace(target, version=replace(target.version, snapshot=snapshot))
    assert facts_of(target, DELETE_MODE).target == TargetSize(0, 0)


@pytest.mark.parametrize(
    ("partitioning", "columns"),
    [("", 3), ("PARTITIONED BY (c)", 3), ("PARTITIONED BY (bucket(3, c), c)", 3), ("PARTITIONED BY (c, n)", 0)],
)
def test_columns_are_read_by_tasks_if_rows_stay_in_their_partitions(
    lake: Lake, partitioning: str, columns: int
) -> None:
    lake.create(f"CREATE TABLE t (id BIGINT, n INT, c STRING, d STRING) {partitioning}")
    assert facts_of(lake.target(), UPDATE_MODE, ("id", "c", "d")).columns_read_by_tasks() == columns
    assert facts_of(lake.target(), UPDATE_MODE, ()).columns_read_by_tasks() == 0
    assert facts_of(lake.target(), DELETE_MODE, None).columns_read_by_tasks() == 0
