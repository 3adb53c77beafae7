"""Of two commits that undo one snapshot the second is refused, and leaves no file."""

from __future__ import annotations

from pathlib import Path

import pytest

from small_tables import Writer, data_file, files_below, ids_read_by_pyiceberg, warehouse_catalog
from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.action import Destination
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.branch_move import MoveBranch, SetCurrentSnapshot
from sqlext.commit.actions.undo_commit import UndoOnce
from sqlext.errors import ValidationConflict
from sqlext.spec.metadata.undone_snapshot import UNDONE_SNAPSHOT


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(warehouse_catalog(tmp_path))


def _append(table: LoadedTable, id: int) -> AppendFiles:
    return AppendFiles([data_file(table.metadata, [id])])


def _undo(writer: Writer, table: LoadedTable, snapshot_id: int, id: int) -> LoadedTable:
    destination = Destination(summary=((UNDONE_SNAPSHOT, str(snapshot_id)),))
    return writer.commit(UndoOnce(snapshot_id, _append(table, id)), base=table, destination=destination).table


def test_one_of_two_lands(writer: Writer, tmp_path: Path) -> None:
    writer.create()
    table = writer.append(1).table
    snapshot = table.metadata.current_snapshot()
    assert snapshot is not None
    _undo(writer, table, snapshot.snapshot_id, 2)
    before = files_below(tmp_path)
    with pytest.raises(ValidationConflict, match="UNDO_NOT_POSSIBLE"):
        _undo(writer, table, snapshot.snapshot_id, 3)
    assert files_below(tmp_path) == before
    assert ids_read_by_pyiceberg(writer.load()) == [1, 2]


def test_a_branch_that_was_moved_meanwhile(writer: Writer) -> None:
    writer.create()
    first = writer.append(1).table
    second = writer.append(2).table
    of_first, of_second = first.metadata.current_snapshot(), second.metadata.current_snapshot()
    assert of_first is not None
    assert of_second is not None
    writer.commit(MoveBranch(SetCurrentSnapshot(of_first.snapshot_id)), base=second)
    with pytest.raises(ValidationConflict, match=r"UNDO_NOT_POSSIBLE.*history"):
        _undo(writer, second, of_second.snapshot_id, 3)
    assert ids_read_by_pyiceberg(writer.load()) == [1]
