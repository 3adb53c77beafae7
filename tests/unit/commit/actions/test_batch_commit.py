"""Rows of an idempotent batch land once with the record of the batch, whatever happens to their snapshot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from small_tables import (
    SCHEMA,
    UNPARTITIONED,
    Writer,
    data_file,
    files_below,
    ids_read_by_pyiceberg,
    warehouse_catalog,
)
from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.action import CommitContext, StagedChange
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.batch_commit import CommitOnce
from sqlext.commit.actions.branch_move import MoveBranch, SetCurrentSnapshot
from sqlext.commit.actions.table_creation import ReplaceTable
from sqlext.errors import BatchRanBefore, CommitStateUnknown
from sqlext.spec.metadata.idempotent_batch import Batch, BatchRun
from sqlext.spec.metadata.metadata_update import RemoveSnapshots
from sqlext.spec.metadata.requirement import AssertTableUUID
from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.spec.metadata.table_metadata import TableMetadata
from sqlext.spec.sort_order import UNSORTED
from sqlext.storage.file_io import LocalFileIO


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(warehouse_catalog(tmp_path))


def _run(version: int, run: str, app_id: str = "app") -> BatchRun:
    return BatchRun(Batch(app_id, version), run, at_ms=1)


def _append(table: LoadedTable, id: int) -> AppendFiles:
    return AppendFiles([data_file(table.metadata, [id])])


def _write(writer: Writer, table: LoadedTable, id: int, run: BatchRun) -> LoadedTable:
    return writer.commit(CommitOnce(run, _append(table, id)), base=table).table


def test_rows_and_record_are_one_commit(writer: Writer) -> None:
    table = writer.create()
    after = _write(writer, table, 1, _run(3, "a"))
    assert len(after.metadata.metadata_log) == len(table.metadata.metadata_log) + 1
    assert Batch("app", 0).last_run(after.metadata, "t") == _run(3, "a")
    assert ids_read_by_pyiceberg(after) == [1]


def test_of_two_runs_of_a_batch_the_second_leaves_no_file(writer: Writer, tmp_path: Path) -> None:
    table = writer.create()
    mine = CommitOnce(_run(0, "mine"), _append(table, 1))
    own_files = files_below(tmp_path)
    _write(writer, table, 2, _run(0, "other"))
    written = files_below(tmp_path)
    with pytest.raises(BatchRanBefore, match="BATCH_RAN_BEFORE"):
        writer.commit(mine, base=table)
    assert files_below(tmp_path) == written - {file for file in own_files if file.endswith(".parquet")}
    assert ids_read_by_pyiceberg(writer.load()) == [2]


@pytest.mark.parametrize(("version", "lands"), [(4, False), (5, False), (6, True)])
def test_a_version_that_is_not_larger_is_skipped(writer: Writer, version: int, lands: bool) -> None:
    table = _write(writer, writer.create(), 1, _run(5, "a"))
    if lands:
        _write(writer, table, 2, _run(version, "b"))
    else:
        with pytest.raises(BatchRanBefore):
            _write(writer, table, 2, _run(version, "b"))
    assert ids_read_by_pyiceberg(writer.load()) == ([1, 2] if lands else [1])


def test_statements_of_one_run_are_parts_of_its_batch_and_come_behind_none_of_its_later_ones(writer: Writer) -> None:
    table = _write(writer, writer.create(), 1, _run(5, "transaction"))
    table = _write(writer, table, 2, _run(5, "transaction"))
    table = _write(writer, table, 3, _run(6, "transaction"))
    with pytest.raises(BatchRanBefore):
        _write(writer, table, 4, _run(5, "transaction"))
    assert ids_read_by_pyiceberg(writer.load()) == [1, 2, 3]


def test_applications_are_counted_by_themselves(writer: Writer) -> None:
    table = _write(writer, writer.create(), 1, _run(5, "a", "x"))
    table = _write(writer, table, 2, _run(0, "b", "x/y"))
    assert ids_read_by_pyiceberg(table) == [1, 2]
    assert {name for name in table.metadata.properties if name.startswith("sqlext.")} == {
        "sqlext.txn.x",
        "sqlext.txn.x%2Fy",
    }


def test_other_commits_are_not_in_its_way(writer: Writer) -> None:
    table = writer.create()
    writer.append(7, base=table)
    landed = writer.commit(CommitOnce(_run(1, "a"), _append(table, 8)), base=table)
    assert landed.attempts == 2
    assert ids_read_by_pyiceberg(landed.table) == [7, 8]


def test_it_is_known_after_a_rollback_and_the_expiry_of_its_snapshot(writer: Writer) -> None:
    table = writer.append(1, base=writer.create()).table
    first = table.metadata.current_snapshot_id
    assert first is not None
    table = _write(writer, table, 2, _run(1, "a"))
    batch = table.metadata.current_snapshot_id
    assert batch is not None
    table = writer.commit(MoveBranch(SetCurrentSnapshot(first)), base=table).table
    table = writer.commit(_Remove(batch), base=table).table
    assert [one.snapshot_id for one in table.metadata.snapshots] == [first]
    with pytest.raises(BatchRanBefore):
        _write(writer, table, 2, _run(1, "b"))


def test_a_batch_without_rows_is_recorded(writer: Writer) -> None:
    table = writer.commit(CommitOnce(_run(1, "a")), base=writer.create()).table
    assert table.metadata.current_snapshot() is None
    with pytest.raises(BatchRanBefore):
        _write(writer, table, 2, _run(1, "b"))


def test_a_table_that_is_replaced_keeps_the_batches_that_others_have_written_meanwhile(writer: Writer) -> None:
    base = _write(writer, writer.create(), 1, _run(1, "a"))
    _write(writer, base, 2, _run(2, "b"))
    replaced = ReplaceTable(SCHEMA, UNPARTITIONED, UNSORTED, {}, 2, base.metadata.location, _append(base, 3))
    table = writer.commit(CommitOnce(_run(0, "c", "other"), replaced), base=base).table
    assert ids_read_by_pyiceberg(table) == [3]
    assert Batch("app", 0).last_run(table.metadata, "t") == _run(2, "b")
    assert Batch("other", 0).last_run(table.metadata, "t") == _run(0, "c", "other")


class _Silent(LocalFileIO):
    """Versions are made, and the answer is lost as long as `loses` says."""

    loses = 0

    def create(self, location: str, data: bytes, **how: Any) -> None:
        super().create(location, data, **how)
        if self.loses and location.endswith(".metadata.json"):
            self.loses -= 1
            raise CommitStateUnknown("CHANGE_STATE_UNKNOWN", location=location, reason="no answer")


def test_a_lost_answer_is_neither_a_second_batch_nor_a_skipped_one(tmp_path: Path) -> None:
    io = _Silent()
    writer = Writer(warehouse_catalog(tmp_path, io))
    table = writer.create()
    io.loses = 1
    after = _write(writer, table, 1, _run(1, "a"))
    assert io.loses == 0
    assert ids_read_by_pyiceberg(after) == [1]
    assert len(after.metadata.snapshots) == 1


class _Remove:
    """Expires a snapshot, as another engine does it."""

    def __init__(self, id: int) -> None:
        self._id = id

    def begin(self, context: CommitContext) -> _Remove:
        return self

    def stage(self, base: TableMetadata | None) -> StagedChange:
        assert base is not None
        return StagedChange(base, (RemoveSnapshots((self._id,)),), (AssertTableUUID(base.table_uuid),))

    def finish(self, landed: Snapshot | None) -> None:
        """No files."""

    def abandon(self) -> None:
        """No files."""
