"""Every step of an append whose small files are merged, by an error, a lost answer and kill -9: its rows are wholly in
or out, as its outcome says, and nothing that the table names is missing."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import StaticTable

from fault.merging_process import (
    OF_SERVING,
    POINTS,
    ROWS,
    append_through_the_host,
    append_two_files,
    serve_a_group,
)
from fault.writing_process import FAULTS, TABLE, LocalProcess, kill_after, kill_before, processes
from simulator.statements import Change, Create
from small_tables import files_below

_OF_SMALL_FILES = ("reading a small file", "merged file", "clean-up")


def _rows(process: LocalProcess) -> list[tuple[int, str]]:
    location = process.catalog.load_table(TABLE).metadata_location
    found = StaticTable.from_metadata(location).scan().to_arrow()
    return sorted(zip(found["id"].to_pylist(), found["text"].to_pylist(), strict=True))


def _data_files(folder: Path) -> set[str]:
    return {name for name in files_below(folder) if name.endswith(".parquet")}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("point", POINTS)
def test_a_step_that_fails(tmp_path: Path, point: str, fault: str) -> None:
    process = LocalProcess({"warehouse": str(tmp_path)}).with_namespace()
    assert process.run(Create("s", TABLE)) == "acknowledged"
    if "kill" in fault:
        child = processes.Process(target=append_two_files, args=(tmp_path, point, FAULTS[fault]))
        child.start()
        child.join()
        assert child.exitcode == -9
        outcome = "killed"
    else:
        outcome = append_two_files(tmp_path, point, FAULTS[fault])
    rows = _rows(process)
    if outcome == "acknowledged":
        assert rows == ROWS
        # Where merging or deleting failed, the files that were handed in are there.
        assert len(_data_files(tmp_path)) <= (3 if point in _OF_SMALL_FILES else 1)
    elif outcome == "refused":
        assert rows == []
        assert not _data_files(tmp_path)
    else:
        assert rows in ([], ROWS)
    after = Change("after", TABLE, kind="append", ids=frozenset((9,)))
    assert process.run(after) == "acknowledged", after.error
    assert _rows(process) == [*rows, (9, "after")]


def test_without_a_fault_one_file_is_left(tmp_path: Path) -> None:
    process = LocalProcess({"warehouse": str(tmp_path)}).with_namespace()
    assert process.run(Create("s", TABLE)) == "acknowledged"
    assert append_two_files(tmp_path) == "acknowledged"
    assert _rows(process) == ROWS
    (name,) = _data_files(tmp_path)
    assert "00000-0-" in name
    assert "small" not in name


@pytest.fixture
def runtime() -> Iterator[Path]:
    """Short enough for a socket's name."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.parametrize(
    ("point", "befalls"),
    [
        (None, None),
        ("merged file", kill_after),
        ("compare-and-swap", kill_after),
        ("clean-up", kill_before),
    ],
)
def test_processes_whose_files_another_one_merges(
    tmp_path: Path, runtime: Path, point: str | None, befalls: Callable[[Any], Any] | None
) -> None:
    """The one that commits dies in the middle of that, or lives; what the others were told is so."""
    process = LocalProcess({"warehouse": str(tmp_path)}).with_namespace()
    assert process.run(Create("s", TABLE)) == "acknowledged"
    ready = processes.Event()
    serving = processes.Process(target=serve_a_group, args=(tmp_path, runtime, ready, point, befalls))
    serving.start()
    assert ready.wait(60)
    others = [
        processes.Process(target=append_through_the_host, args=(tmp_path, runtime, number))
        for number in range(len(ROWS))
    ]
    for other in others:
        other.start()
    for other in others:
        other.join(120)
    assert [other.exitcode for other in others] == [0] * len(others)
    if befalls is None:
        serving.kill()
    serving.join(60)
    assert serving.exitcode == -signal.SIGKILL
    assert _rows(process) == [*ROWS, OF_SERVING]
    if befalls is None:
        # Its own, and one in the place of the others', which are gone.
        assert len(_data_files(tmp_path)) == 2
    table = process.catalog.load_table(TABLE).metadata
    assert len({one.sequence_number for one in table.snapshots}) == len(table.snapshots)
