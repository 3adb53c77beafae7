"""A process that appends two small files, which become one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from fault.writing_process import TABLE, FaultyIO, LocalProcess
from sqlext.commit.append import AppendFiles
from sqlext.commit.group_committer import GroupCommitter
from sqlext.commit.small_files import SmallFiles
from sqlext.errors import CommitStateUnknown, SqlextError
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


class MergingIO(FaultyIO):
    """Also at what only merging does."""

    def read(self, location: str) -> bytes:
        return self._answered("read", location, lambda: LocalFileIO.read(self, location))

    def open_output(self, location: str) -> BinaryIO:
        return self._answered("open", location, lambda: LocalFileIO.open_output(self, location))

    def _answered(self, operation: str, location: str, effect: Callable[[], Any]) -> Any:
        answer: list[Any] = []
        self._at(operation, location, lambda: answer.append(effect()))
        return answer[0]


def append_two_files(folder: Path, point: str | None = None, befalls: Callable[[Any], Any] | None = None) -> str:
    """How it ended: acknowledged, refused or unknown."""
    io = MergingIO()
    process = LocalProcess({"warehouse": str(folder)}, "merging", io)
    base = process.catalog.load_table(TABLE)
    files = []
    for number, rows in enumerate((ROWS[:2], ROWS[2:])):
        writer = DataWriter(LocalFileIO(), WritePlan.from_metadata(base.metadata, "small", "t"), number, 0)
        writer.write(pa.record_batch([pa.array(column) for column in zip(*rows, strict=True)], names=["id", "text"]))
        files += writer.close()
    if point is not None:
        io.point, io.left, io.befalls = POINTS[point], 1, befalls
    committer = GroupCommitter(
        process.catalog, clock=process.clock, rng=process.rng, small=SmallFiles(1 << 20, merge_data_files)
    )
    try:
        committer.commit(TABLE, AppendFiles(files), base=base)
    except CommitStateUnknown:
        return "unknown"
    except SqlextError:
        return "refused"
    return "acknowledged"
