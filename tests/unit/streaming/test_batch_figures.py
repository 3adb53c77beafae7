"""The figures of a batch that began at 1,000, was written at 1,007, and committed 5 later."""

from __future__ import annotations

from sqlext.spec.metadata.snapshot import Snapshot
from sqlext.streaming.batch_figures import BatchCommit, BatchFigures


def _snapshot(**counters: str) -> Snapshot:
    return Snapshot(1, None, 1, 0, "", {name.replace("_", "-"): value for name, value in counters.items()})


def test_of_one_table() -> None:
    commit = BatchCommit(1_007, 1_012, {"": _snapshot(added_data_files="2")})
    assert BatchFigures(1_000, 1_015, 9, commit, last_commit_ms=900).metrics() == {
        "rowsWritten": "9",
        "writeMs": "15",
        "sinceLastCommitMs": "115",
        "commitMs": "5",
        "addedDataFiles": "2",
        "addedDeleteFiles": "0",
    }


def test_of_tables_and_all_of_them() -> None:
    of_tables = {"a": _snapshot(added_data_files="2"), "b": _snapshot(added_data_files="1", added_delete_files="4")}
    commit = BatchCommit(1_007, 1_012, of_tables, of_tables=True)
    assert BatchFigures(1_000, 1_012, None, commit, last_commit_ms=None).metrics() == {
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
    assert BatchFigures(1_000, 1_000, 0, None, None).metrics() == {"rowsWritten": "0", "writeMs": "0"}
    commit = BatchCommit(1_007, 1_012)
    told = {"rowsWritten": "0", "writeMs": "12", "commitMs": "5"}
    assert BatchFigures(1_000, 1_012, 0, commit, None).metrics() == told
    assert BatchFigures(1_000, 1_012, 0, BatchCommit(1_007), None).metrics() == {"rowsWritten": "0", "writeMs": "12"}
