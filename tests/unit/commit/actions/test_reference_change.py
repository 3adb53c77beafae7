"""Branches and tags are made, replaced and dropped."""

from __future__ import annotations

from pathlib import Path

import pytest

from small_tables import Writer, warehouse_catalog
from sqlext.commit.actions.reference_change import CreateReference, DropReference, Retention
from sqlext.errors import AlreadyExistsError, AnalysisError, NotFoundError
from sqlext.spec.metadata.reference import SnapshotReference


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    writer = Writer(warehouse_catalog(tmp_path))
    writer.create()
    return writer


def snapshot_ids(writer: Writer, count: int) -> list[int]:
    return [writer.append(i).table.metadata.current_snapshot_id or 0 for i in range(count)]


def test_a_reference_is_at_the_head_of_main_or_at_a_snapshot(writer: Writer) -> None:
    first, second = snapshot_ids(writer, 2)
    retention = Retention(max_ref_age_ms=1000, min_snapshots_to_keep=3, max_snapshot_age_ms=2000)
    writer.commit(CreateReference("b", "branch", retention=retention), base=writer.load())
    refs = writer.commit(CreateReference("v1", "tag", first), base=writer.load()).table.metadata.refs
    assert refs["b"] == SnapshotReference(second, "branch", 3, 2000, 1000)
    assert refs["v1"] == SnapshotReference(first, "tag")


def test_a_replaced_reference_keeps_what_is_not_given(writer: Writer) -> None:
    first, second = snapshot_ids(writer, 2)
    retention = Retention(max_ref_age_ms=1000, min_snapshots_to_keep=3)
    writer.commit(CreateReference("b", "branch", first, retention=retention), base=writer.load())
    replaced = CreateReference("b", "branch", must_exist=True, retention=Retention(max_ref_age_ms=7))
    refs = writer.commit(replaced, base=writer.load()).table.metadata.refs
    assert refs["b"] == SnapshotReference(second, "branch", 3, None, 7)


def test_the_same_name_again(writer: Writer) -> None:
    first, second = snapshot_ids(writer, 2)
    made = writer.commit(CreateReference("v1", "tag", first), base=writer.load()).table
    with pytest.raises(AlreadyExistsError, match="REFERENCE_ALREADY_EXISTS"):
        writer.commit(CreateReference("v1", "tag"), base=made)
    same = writer.commit(CreateReference("v1", "tag", if_not_exists=True), base=made).table
    assert same.metadata_location == made.metadata_location
    moved = writer.commit(CreateReference("v1", "tag", or_replace=True), base=made).table
    assert moved.metadata.refs["v1"].snapshot_id == second
    with pytest.raises(AnalysisError, match="WRONG_REFERENCE_TYPE"):
        writer.commit(CreateReference("v1", "branch", or_replace=True), base=moved)


@pytest.mark.parametrize(
    "action",
    [
        CreateReference("b", "branch", must_exist=True),
        DropReference("b", "branch"),
        CreateReference("b", "branch", snapshot_id=42),
    ],
)
def test_what_is_not_there(writer: Writer, action: CreateReference | DropReference) -> None:
    snapshot_ids(writer, 1)
    with pytest.raises(NotFoundError):
        writer.commit(action, base=writer.load())


def test_an_empty_table_has_nothing_to_tag(writer: Writer) -> None:
    with pytest.raises(NotFoundError, match="TABLE_HAS_NO_SNAPSHOT"):
        writer.commit(CreateReference("v1", "tag"), base=writer.load())


def test_drop(writer: Writer) -> None:
    (first,) = snapshot_ids(writer, 1)
    writer.commit(CreateReference("v1", "tag"), base=writer.load())
    with pytest.raises(AnalysisError, match="WRONG_REFERENCE_TYPE"):
        writer.commit(DropReference("v1", "branch"), base=writer.load())
    dropped = writer.commit(DropReference("v1", "tag"), base=writer.load()).table
    assert set(dropped.metadata.refs) == {"main"}
    assert dropped.metadata.snapshot_or_none(first) is not None
    same = writer.commit(DropReference("v1", "tag", if_exists=True), base=dropped).table
    assert same.metadata_location == dropped.metadata_location
    with pytest.raises(AnalysisError, match="MAIN_BRANCH_STAYS"):
        writer.commit(DropReference("main", "branch"), base=dropped)
