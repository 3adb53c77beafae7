"""Data files rewritten by one task without a query: their live rows as Arrow, in the order of the files or sorted.

Rows are read ahead by another thread, some batches at a time; only a sort holds all rows of its part in memory.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa

from sqlext.errors import SqlextError, StorageError
from sqlext.scan.live_rows import OnlyByQuery, RowColumns, live_rows
from sqlext.scan.scan_plan import FileScanTask
from sqlext.storage.file_io import FileIO
from sqlext.write.commit_message import TaskMessage, decode_messages
from sqlext.write.task import TaskIdentity, write_rows
from sqlext.write.write_plan import WritePlan

_BATCHES_AHEAD = 4

Sort = Callable[[pa.Table], pa.Table]


@dataclass(frozen=True, slots=True)
class RewritePart:
    """Data files that are rewritten together, in this order, without equality deletes; each with the number that
    stands for it in the origins of rows."""

    files: tuple[tuple[int, FileScanTask], ...]


@dataclass(frozen=True)
class PartWriter:
    """How the parts of one operation are written: `plan` is for rows with origins, and with row lineage if `lineage`.

    Each part is sorted by `sort` as a whole, unless None.
    """

    plan: WritePlan
    columns: RowColumns
    lineage: bool
    sort: Sort | None = None

    def write(
        self, part: RewritePart, *, task_identity: TaskIdentity, io: FileIO | None = None
    ) -> Sequence[TaskMessage] | None:
        """Writes the live rows of a part; None, with no file left, if only a query can read them.

        `task_identity` is as in `write_rows`. Errors become a message.
        """
        store = io or self.plan.io
        by_query = False

        def rows() -> Iterator[pa.RecordBatch]:
            nonlocal by_query
            try:
                yield from self._rows(store, part)
            except OnlyByQuery:
                by_query = True

        written = write_rows(self.plan, task_identity=task_identity, io=store)(rows())
        messages = [message for batch in written for message in decode_messages(batch)]
        if not by_query:
            return messages
        for message in messages:
            if message.kind == "file":
                with suppress(SqlextError, StorageError, OSError):
                    store.delete(message.path)
        return None

    def _rows(self, io: FileIO, part: RewritePart) -> Iterator[pa.RecordBatch]:
        batches = _read_ahead(self._stored(io, part))
        if self.sort is None:
            return batches
        shape = self.columns.shape(lineage=self.lineage, origins=True)
        return iter(self.sort(pa.Table.from_batches(batches, shape)).to_batches())

    def _stored(self, io: FileIO, part: RewritePart) -> Iterator[pa.RecordBatch]:
        for number, task in part.files:
            yield from live_rows(io, task, self.columns, lineage=self.lineage, source=number)


def sorted_by(columns: Sequence[str], rows: pa.Table) -> pa.Table:
    """The rows by ascending columns without nulls."""
    return rows.sort_by([(name, "ascending") for name in columns])


def _read_ahead(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches, taken from the iterator by a thread of its own; its errors are raised here."""
    ready: queue.Queue[pa.RecordBatch | BaseException | None] = queue.Queue(_BATCHES_AHEAD)
    stopped = threading.Event()

    def put(item: pa.RecordBatch | BaseException | None) -> None:
        while not stopped.is_set():
            with suppress(queue.Full):
                ready.put(item, timeout=0.1)
                return

    def read() -> None:
        try:
            for batch in batches:
                put(batch)
                if stopped.is_set():
                    return
            put(None)
        except BaseException as error:
            put(error)

    reader = threading.Thread(target=read, name="sqlext-read-ahead", daemon=True)
    reader.start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stopped.set()
        reader.join()
