"""Processes that append small files, which become one: two of one process, or one of each of several."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from fault.grouped_process import GroupedProcess
from fault.writing_process import TABLE, FaultyIO, LocalProcess
from sqlext.catalog.catalog import LoadedTable
from sqlext.commit.actions.append import AppendFiles
from sqlext.commit.group.group_committer import GroupCommitter
from sqlext.commit.group.small_files import SmallFiles
from sqlext.errors import CommitStateUnknown, SqlextError
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.storage.file_io import LocalFileIO
from sqlext.write.data_writer import DataWriter
from sqlext.write.merged_file import merge_data_files
from sqlext.write.write_plan import WritePlan

POINTS = {
    "reading a small file": ("read", "data file"),
    "merged file": ("open", "data file"),
    "manifest": ("create", "manifest"),
    "manifest list": ("create", "manifest list"),
    "compare-and-swap": ("create", "table metadata"),
    "hint": ("replace", "hint"),
    "clean-up": ("delete", "data file"),
}
ROWS = [(1, "a"), (2, "b"), (3, "c")]
OF_SERVING = (9, "serving")
LOCAL = LocalFileIO()
SMALL = SmallFiles(1 << 20, merge_data_files)


class MergingIO(FaultyIO):
    """Also at what only merging does."""

    def read(self, location: str) -> bytes:
        return self._answered("read", location, lambda: LOCAL.read(location))

    def open_output(self, location: str) -> BinaryIO:
        return self._answered("open", location, lambda: LOCAL.open_output(location))

    def _answered(self, operation: str, location: str, effect: Callable[[], Any]) -> Any:
        answer: list[Any] = []
        self._at(operation, location, lambda: answer.append(effect()))
        return answer[0]


def append_two_files(folder: Path, point: str | None = None, befalls: Callable[[Any], Any] | None = None) -> str:
    """How it ended: acknowledged, refused or unknown."""
    io = MergingIO()
    process = LocalProcess({"warehouse": str(folder)}, "merging", io)
    base = process.catalog.load_table(TABLE)
    files = [_small_file(base, number, rows) for number, rows in enumerate((ROWS[:2], ROWS[2:]))]
    if point is not None:
        io.point, io.left, io.befalls = POINTS[point], 1, befalls
    committer = GroupCommitter(process.catalog, clock=process.clock, rng=process.rng, small=SMALL)
    try:
        committer.commit(TABLE, AppendFiles(files), base=base)
    except CommitStateUnknown:
        return "unknown"
    except SqlextError:
        return "refused"
    return "acknowledged"


def serve_a_group(
    folder: Path, runtime: Path, ready: Any, point: str | None = None, befalls: Callable[[Any], Any] | None = None
) -> None:
    """Commits for others: what each of `ROWS` is in comes while a commit of its own is under way, so that it is one
    group. The fault point comes in that."""
    io = MergingIO()
    process = GroupedProcess({"warehouse": str(folder)}, runtime, "serving", io, SMALL)

    def gather(effect: Callable[[], Any]) -> None:
        ready.set()
        while len(process.committer._own._tables[TABLE].waiting) < len(ROWS):
            time.sleep(0.01)
        if point is not None:
            io.point, io.left, io.befalls = POINTS[point], 1, befalls
        effect()

    io.point, io.left, io.befalls = POINTS["compare-and-swap"], 1, gather
    base = process.catalog.load_table(TABLE)
    process.committer.commit(TABLE, AppendFiles([_small_file(base, len(ROWS), [OF_SERVING])]), base=base)
    time.sleep(120)


def append_through_the_host(folder: Path, runtime: Path, number: int) -> None:
    """One of `ROWS`, in a file of its own."""
    process = GroupedProcess({"warehouse": str(folder)}, runtime, number, small=SMALL)
    base = process.catalog.load_table(TABLE)
    process.committer.commit(TABLE, AppendFiles([_small_file(base, number, ROWS[number : number + 1])]), base=base)


def _small_file(table: LoadedTable, number: int, rows: Sequence[tuple[int, str]]) -> ContentFile:
    writer = DataWriter(LocalFileIO(), WritePlan.from_metadata(table.metadata, "small", "t"), number, 0)
    writer.write(pa.record_batch([pa.array(column) for column in zip(*rows, strict=True)], names=["id", "text"]))
    (file,) = writer.close()
    return file
