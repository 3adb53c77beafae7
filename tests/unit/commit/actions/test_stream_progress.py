"""The progress of a stream in a table: fenced, landed with the rows, and kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from small_tables import Writer, data_file, files_below, warehouse_catalog
from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.stream_progress import AdvanceStream, StreamProgress
from sqlext.errors import CorruptionError, ValidationConflict
from sqlext.spec.metadata.stream_state import PROGRESS_PREFIX
from sqlext.spec.metadata.table_metadata import TableMetadata

QUERY = "q1"


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(warehouse_catalog(tmp_path))


def _progress(metadata: TableMetadata) -> StreamProgress | None:
    return StreamProgress.of(metadata, QUERY, "lake.db.orders")


def _claimed(writer: Writer, table: LoadedTable, run: str) -> tuple[LoadedTable, StreamProgress]:
    there = _progress(table.metadata)
    claim = StreamProgress(run) if there is None else there.taken_over(run)
    return writer.commit(AdvanceStream(QUERY, there, claim), base=table).table, claim


def test_rows_and_progress_are_one_commit(writer: Writer) -> None:
    table, claim = _claimed(writer, writer.create(), "run 1")
    assert table.metadata.current_snapshot() is None
    file = data_file(table.metadata, [1, 2])
    after = claim.after(0, {0: "plan"})
    table = writer.commit(AdvanceStream(QUERY, claim, after, AppendFiles([file])), base=table).table
    assert _progress(table.metadata) == StreamProgress("run 1", 0, {0: "plan"})
    snapshot = table.metadata.current_snapshot()
    assert snapshot is not None
    assert snapshot.summary["added-records"] == "2"


def test_an_overtaken_run_is_fenced_and_leaves_no_file(writer: Writer, tmp_path: Path) -> None:
    table, mine = _claimed(writer, writer.create(), "run 1")
    _claimed(writer, table, "run 2")
    before = files_below(tmp_path)
    action = AdvanceStream(QUERY, mine, mine.after(0, {}), AppendFiles([data_file(table.metadata, [1])]))
    with pytest.raises(ValidationConflict, match=r"STREAM_FENCED.*run 2"):
        writer.commit(action, base=table)
    assert files_below(tmp_path) == before


def test_other_commits_are_not_in_its_way(writer: Writer) -> None:
    table, claim = _claimed(writer, writer.create(), "run 1")
    writer.append(7, base=table)
    file = data_file(table.metadata, [8])
    after = claim.after(3, {3: "plan"})
    landed = writer.commit(AdvanceStream(QUERY, claim, after, AppendFiles([file])), base=table)
    assert landed.attempts == 2
    assert _progress(landed.table.metadata) == after
    assert len(landed.table.metadata.snapshots) == 2


def test_plans_of_the_newest_batches_are_kept() -> None:
    progress = StreamProgress("run")
    for batch in range(100):
        progress = progress.after(batch, {batch: f"plan {batch}"})
    assert sorted(progress.plans) == list(range(84, 100))
    assert progress.batch_id == 99


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 2}', '{"version": 1, "run": "r", "batch": "x", "plans": {}}']
)
def test_what_is_no_progress_is_refused(writer: Writer, text: str) -> None:
    table = writer.create()
    table = writer.commit(ChangeProperties({PROGRESS_PREFIX + QUERY: text}), base=table).table
    with pytest.raises(CorruptionError, match="STREAM_PROGRESS_UNREADABLE"):
        _progress(table.metadata)
