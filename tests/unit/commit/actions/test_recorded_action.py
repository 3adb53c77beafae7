"""A record lands with its snapshot, and goes with an attempt that did not land."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from small_tables import Writer, data_file, ids_read_by_pyiceberg, summary_of, warehouse_catalog
from sqlext.commit.action import StagedChange
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.actions.property_change import ChangeProperties
from sqlext.commit.actions.recorded_action import RecordedAction
from sqlext.commit.actions.row_delta import RowDelta
from sqlext.errors import ValidationConflict
from sqlext.spec.expression import AlwaysTrue
from sqlext.spec.metadata.snapshot import Snapshot


class _Numbered:
    """Records say how many there were before, and behind which snapshot they were made."""

    def __init__(self, tells: bool = True) -> None:
        self.made: list[tuple[int | None, str]] = []
        self.discarded: list[str] = []
        self._tells = tells

    def record(self, change: StagedChange, snapshot: Snapshot) -> Mapping[str, str]:
        self.made.append((snapshot.parent_snapshot_id, str(len(self.made))))
        return {"record": self.made[-1][1]} if self._tells else {}

    def discard(self, entries: Mapping[str, str]) -> None:
        self.discarded.append(entries["record"])


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return Writer(warehouse_catalog(tmp_path))


def test_a_record_is_made_anew_for_each_attempt_and_the_last_one_stays(writer: Writer) -> None:
    base, recorder = writer.create(), _Numbered()
    other = writer.append(1, base=base).table.metadata.current_snapshot()
    assert other is not None
    action = RecordedAction(AppendFiles([data_file(base.metadata, [2])]), recorder)
    table = writer.commit(action, base=base).table
    assert recorder.made == [(None, "0"), (other.snapshot_id, "1")]
    assert recorder.discarded == ["0"]
    assert summary_of(table)["record"] == "1"
    assert ids_read_by_pyiceberg(table) == [1, 2]


def test_a_commit_that_is_refused_leaves_no_record(writer: Writer) -> None:
    base, recorder = writer.create(), _Numbered()
    action = RowDelta([data_file(base.metadata, [2])], read_filter=AlwaysTrue())
    writer.append(1, base=base)
    with pytest.raises(ValidationConflict):
        writer.commit(RecordedAction(action, recorder), base=base)
    assert recorder.discarded == [number for _, number in recorder.made] == ["0"]


def test_what_has_nothing_to_tell_is_committed_as_it_is(writer: Writer) -> None:
    base, silent = writer.create(), _Numbered(tells=False)
    table = writer.commit(RecordedAction(ChangeProperties({"write-only": "true"}), silent), base=base).table
    assert silent.made == []
    table = writer.commit(RecordedAction(AppendFiles([data_file(base.metadata, [2])]), silent), base=table).table
    assert len(silent.made) == 1
    assert not silent.discarded
    assert "record" not in summary_of(table)
