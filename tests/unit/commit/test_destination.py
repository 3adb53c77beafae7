"""Commits to branches, and snapshots that are staged for an audit."""

from __future__ import annotations

from pathlib import Path

import pytest

from small_tables import Writer, warehouse_catalog
from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.action import Destination
from sqlext.commit.actions.reference_change import CreateReference
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.errors import AnalysisError, ValidationConflict
from sqlext.spec.expression import AlwaysTrue

AUDIT = Destination("audit")


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    writer = Writer(warehouse_catalog(tmp_path))
    writer.create()
    return writer


def heads(table: LoadedTable) -> dict[str, str]:
    """The total of rows at each reference."""
    metadata = table.metadata
    return {name: metadata.snapshot(ref.snapshot_id).summary["total-records"] for name, ref in metadata.refs.items()}


def test_a_new_branch_begins_at_main_and_leaves_it(writer: Writer) -> None:
    first = writer.append(1).snapshot
    branched = writer.append(2, 3, destination=AUDIT)
    assert heads(branched.table) == {"main": "1", "audit": "3"}
    assert first is not None
    assert branched.snapshot is not None
    assert branched.snapshot.parent_snapshot_id == first.snapshot_id
    assert branched.table.metadata.current_snapshot_id == first.snapshot_id
    assert [entry.snapshot_id for entry in branched.table.metadata.snapshot_log] == [first.snapshot_id]


def test_branches_go_their_own_ways(writer: Writer) -> None:
    writer.append(1)
    writer.append(2, destination=AUDIT)
    writer.append(3, 4, 5)
    assert heads(writer.append(6, destination=AUDIT).table) == {"main": "4", "audit": "3"}


def test_a_conflict_is_one_of_the_same_branch(writer: Writer) -> None:
    writer.append(1)
    base = writer.append(2, destination=AUDIT).table
    since = base.metadata.head("audit")
    assert since is not None
    writer.append(3)
    delta = RowDelta(base_snapshot_id=since.snapshot_id, read_filter=AlwaysTrue())
    writer.commit(delta, base=base, destination=AUDIT)
    base = writer.load()
    writer.append(4, destination=AUDIT)
    with pytest.raises(ValidationConflict, match="added rows"):
        writer.commit(delta, base=base, destination=AUDIT)


def test_a_staged_snapshot_is_on_no_branch(writer: Writer) -> None:
    writer.append(1)
    staged = writer.append(2, destination=Destination(wap_id="job-7"))
    assert heads(staged.table) == {"main": "1"}
    assert staged.snapshot is not None
    assert staged.snapshot.summary["wap.id"] == "job-7"
    assert staged.table.metadata.snapshot_or_none(staged.snapshot.snapshot_id) is not None


def test_a_tag_takes_no_commit(writer: Writer) -> None:
    tagged = writer.commit(CreateReference("v1", "tag"), base=writer.append(1).table).table
    with pytest.raises(AnalysisError, match="NOT_A_BRANCH"):
        writer.append(2, base=tagged, destination=Destination("v1"))
