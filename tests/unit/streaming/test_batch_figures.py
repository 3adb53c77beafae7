"""The figures of a batch, by a clock that stands still between its steps."""

from __future__ import annotations

from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.streaming.batch_figures import BatchFigures


class _Clock:
    now_ms = 1_000

    def __call__(self) -> int:
        return self.now_ms


def _snapshot(**counters: str) -> Snapshot:
    return Snapshot(1, None, 1, 0, "", {name.replace("_", "-"): value for name, value in counters.items()})


def _landed(clock: _Clock) -> BatchFigures:
    """Begun at 1,000, written at 1,007, and committed 5 later."""
    figures = BatchFigures(clock)
    clock.now_ms += 7
    figures.commit_begins()
    clock.now_ms += 5
    return figures


def test_of_one_table() -> None:
    clock = _Clock()
    figures = _landed(clock)
    figures.commit_landed(_snapshot(added_data_files="2"))
    clock.now_ms += 3
    assert figures.metrics(9, 900) == {
        "rowsWritten": "9",
        "writeMs": "15",
        "sinceLastCommitMs": "115",
        "commitMs": "5",
        "addedDataFiles": "2",
        "addedDeleteFiles": "0",
    }


def test_of_tables_and_all_of_them() -> None:
    clock = _Clock()
    figures = _landed(clock)
    of_tables = {"a": _snapshot(added_data_files="2"), "b": _snapshot(added_data_files="1", added_delete_files="4")}
    figures.tables_landed(of_tables)
    assert figures.metrics(None, None) == {
        "writeMs": "12",
        "commitMs": "5",
        "addedDataFiles": "3",
        "addedDeleteFiles": "4",
        "a.addedDataFiles": "2",
        "a.addedDeleteFiles": "0",
        "b.addedDataFiles": "1",
        "b.addedDeleteFiles": "4",
    }


def test_of_what_made_no_snapshot() -> None:
    clock = _Clock()
    assert BatchFigures(clock).metrics(0, None) == {"rowsWritten": "0", "writeMs": "0"}
    figures = _landed(clock)
    figures.commit_landed(None)
    assert figures.metrics(0, None) == {"rowsWritten": "0", "writeMs": "12", "commitMs": "5"}
