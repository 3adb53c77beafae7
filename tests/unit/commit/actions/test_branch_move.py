"""Rollback, fast-forward and cherry-pick: where a branch may go."""

from __future__ import annotations

from pathlib import Path

import pytest

from small_tables import BY_REGION, Writer, data_file, ids_read_by_pyiceberg, warehouse_catalog
from sqlext.commit.action import MAIN, Destination
from sqlext.commit.actions.branch_move import (
    FastForward,
    MoveBranch,
    RollbackToSnapshot,
    RollbackToTimestamp,
    SetCurrentSnapshot,
)
from sqlext.commit.actions.cherry_pick import CherryPick
from sqlext.commit.actions.overwrite import OverwriteFiles
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.errors import AnalysisError, NotFoundError, ValidationConflict
from sqlext.spec.expression import AlwaysTrue

STAGED = Destination(wap_id="job")


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    writer = Writer(warehouse_catalog(tmp_path))
    writer.create(spec=BY_REGION)
    return writer


def appended(writer: Writer, *ids: int, region: str = "eu", destination: Destination = MAIN) -> int:
    snapshot = writer.append(*ids, region=region, destination=destination).snapshot
    assert snapshot is not None
    return snapshot.snapshot_id


def test_back_to_a_snapshot_and_forth(writer: Writer) -> None:
    first, second = appended(writer, 1), appended(writer, 2)
    back = writer.commit(MoveBranch(RollbackToSnapshot(first)), base=writer.load()).table
    assert ids_read_by_pyiceberg(back) == [1]
    assert [entry.snapshot_id for entry in back.metadata.snapshot_log] == [first, second, first]
    with pytest.raises(AnalysisError, match="SNAPSHOT_NOT_ANCESTOR"):
        writer.commit(MoveBranch(RollbackToSnapshot(second)), base=back)
    assert ids_read_by_pyiceberg(writer.commit(MoveBranch(SetCurrentSnapshot(second)), base=back).table) == [1, 2]


def test_back_to_a_time(writer: Writer) -> None:
    first, second = appended(writer, 1), appended(writer, 2)
    made = writer.load().metadata.snapshot(second).timestamp_ms
    moved = writer.commit(MoveBranch(RollbackToTimestamp(made)), base=writer.load()).table
    assert moved.metadata.current_snapshot_id == first
    with pytest.raises(NotFoundError, match="SNAPSHOT_NOT_FOUND"):
        writer.commit(MoveBranch(RollbackToTimestamp(0)), base=moved)


def test_a_rollback_conflicts_with_what_was_read_before_it(writer: Writer) -> None:
    first = appended(writer, 1)
    appended(writer, 2)
    base = writer.load()
    writer.commit(MoveBranch(RollbackToSnapshot(first)), base=base)
    delta = RowDelta(base_snapshot_id=base.metadata.current_snapshot_id, read_filter=AlwaysTrue())
    with pytest.raises(ValidationConflict, match="rolled back"):
        writer.commit(delta, base=base)


def test_fast_forward(writer: Writer) -> None:
    appended(writer, 1)
    head = appended(writer, 2, destination=Destination("audit"))
    table = writer.commit(MoveBranch(FastForward("audit")), base=writer.load()).table
    assert table.metadata.current_snapshot_id == head
    made = writer.commit(MoveBranch(FastForward("audit"), "new"), base=table).table
    assert made.metadata.refs["new"].snapshot_id == head
    appended(writer, 3)
    appended(writer, 4, destination=Destination("audit"))
    with pytest.raises(AnalysisError, match="NOT_FAST_FORWARD"):
        writer.commit(MoveBranch(FastForward("audit")), base=writer.load())
    with pytest.raises(NotFoundError, match="REFERENCE_NOT_FOUND"):
        writer.commit(MoveBranch(FastForward("none")), base=writer.load())


def test_a_picked_append_is_added_once_more(writer: Writer) -> None:
    appended(writer, 1)
    picked = appended(writer, 2, destination=STAGED)
    appended(writer, 3)
    outcome = writer.commit(CherryPick(wap_id="job"), base=writer.load())
    assert ids_read_by_pyiceberg(outcome.table) == [1, 2, 3]
    assert outcome.snapshot is not None
    assert outcome.snapshot.summary["source-snapshot-id"] == str(picked)
    assert outcome.snapshot.summary["published-wap-id"] == "job"
    with pytest.raises(AnalysisError, match="on main already"):
        writer.commit(CherryPick(snapshot_id=picked), base=outcome.table)


def test_the_snapshot_next_to_main_becomes_its_head(writer: Writer) -> None:
    appended(writer, 1)
    picked = appended(writer, 2, destination=STAGED)
    table = writer.commit(CherryPick(snapshot_id=picked), base=writer.load()).table
    assert table.metadata.current_snapshot_id == picked


def test_picked_partitions_replace_those_that_nobody_touched(writer: Writer) -> None:
    appended(writer, 1, region="eu")
    appended(writer, 2, region="us")
    base = writer.load()
    overwrite = OverwriteFiles([data_file(base.metadata, [9], "eu")], partitions=frozenset({(0, ("eu",))}))
    writer.commit(overwrite, base=base, destination=STAGED)
    appended(writer, 3, region="us")
    picked = writer.commit(CherryPick(wap_id="job"), base=writer.load()).table
    assert ids_read_by_pyiceberg(picked) == [2, 3, 9]


def test_a_refused_pick_leaves_the_files_of_the_picked_snapshot(writer: Writer, tmp_path: Path) -> None:
    appended(writer, 1, region="eu")
    base = writer.load()
    overwrite = OverwriteFiles([data_file(base.metadata, [9], "eu")], partitions=frozenset({(0, ("eu",))}))
    staged = writer.commit(overwrite, base=base, destination=STAGED).snapshot
    appended(writer, 3, region="eu")
    before = set(tmp_path.rglob("*.parquet"))
    with pytest.raises(ValidationConflict, match="same partition"):
        writer.commit(CherryPick(wap_id="job"), base=writer.load())
    assert set(tmp_path.rglob("*.parquet")) == before
    assert staged is not None
    writer.commit(OverwriteFiles(delete_all=True), base=writer.load(), destination=Destination(wap_id="all"))
    appended(writer, 5)
    with pytest.raises(AnalysisError, match="neither an append"):
        writer.commit(CherryPick(wap_id="all"), base=writer.load())
