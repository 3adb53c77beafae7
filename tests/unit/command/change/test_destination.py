"""The table, branch or staged snapshot that a write names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sqlext.command.change.destination import destination, written_branch, written_table
from sqlext.commit.action import MAIN, Destination
from sqlext.spark.catalog.table_handle import TableHandle
from unit.command.lake import Lake, refused

HANDLE = TableHandle("lake", ("a.b", "c"), "t", "/w/t/metadata/v1.metadata.json", "uuid", "")


def test_a_plan_writes_to_the_table_or_branch_of_its_handle() -> None:
    assert written_table(HANDLE).parts == ("lake", "a.b", "c", "t")
    assert written_table(replace(HANDLE, branch="audit")).parts == ("lake", "a.b", "c", "t", "branch_audit")


@pytest.mark.parametrize(
    ("handle", "condition"),
    [
        (replace(HANDLE, catalog=None), "PATH_TABLE_READ_ONLY"),
        (replace(HANDLE, snapshot_id=0), "PLACE_READ_ONLY"),
        (replace(HANDLE, metadata_table="files"), "PLACE_READ_ONLY"),
    ],
)
def test_a_plan_writes_to_no_other_place(handle: TableHandle, condition: str) -> None:
    with refused(condition, "c.t"):
        written_table(handle)


def test_one_branch_may_be_named_twice_and_two_may_not() -> None:
    assert written_branch(None, None, "t") is None
    assert written_branch("a", None, "t") == written_branch(None, "a", "t") == written_branch("a", "a", "t") == "a"
    with refused("TWO_DESTINATIONS", "the branch a", "branch = A"):
        written_branch("a", "A", "t")


def test_a_table_without_write_audit_publish_asks_no_session(tmp_path: Path) -> None:
    metadata = Lake(tmp_path).create("CREATE TABLE t (id BIGINT)").metadata
    assert destination(None, metadata, None, "t") is MAIN
    assert destination(None, metadata, "audit", "t") == Destination("audit")
