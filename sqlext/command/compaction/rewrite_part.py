"""Data files rewritten by one task without a query: their live rows as Arrow, in the order of the files or sorted.

Rows are read ahead by another thread, some batches at a time; only a sort holds all rows of its part in memory.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa

from sqlext.command.compaction.row_sort import RowSort
from sqlext.errors import OnlyByQuery, SqlextError
from sqlext.scan.live_rows import RowColumns, live_rows
from sqlext.scan.scan_plan import FileScanTask
from sqlext.storage.file_io import FileIO
from sqlext.write.commit_message import TaskMessage, decode_messages
from sqlext.write.task import TaskIdentity, write_rows
from sqlext.write.write_plan import WritePlan

_BATCHES_AHEAD = 4
_SORTED_BATCH = 131_072


@dataclass(frozen=True, slots=True)
class RewritePart:
    """Data files that are rewritten together, in this order, without equality deletes; each with the number that
    stands for it in the origins of rows.

    If they are sorted, they become `pieces` files. `first_piece` begins the numbers of these in all parts.
    """

    files: tuple[tuple[int, FileScanTask], ...]
    first_piece: int
    pieces: int = 1


@dataclass(frozen=True)
class PartWriter:
    """How the parts of one operation are written: `plan` is for rows with origins, and with row lineage if `lineage`.

    Each part is sorted by `sort` as a whole, unless None.
    """

    plan: WritePlan
    columns: RowColumns
    lineage: bool
    sort: RowSort | None = None

    def write(self, part: RewritePart, attempt: int) -> Sequence[TaskMessage] | None:
        """Writes the live rows of a part; None, with no file left, if only a query can read them.

        `attempt` tells runs for the same part apart. Errors become a message.
        """
        by_query = False

        def rows() -> Iterator[pa.RecordBatch]:
            nonlocal by_query
            try:
                yield from _read_ahead(self._stored(self.plan.io, part))
            except OnlyByQuery:
                by_query = True

        messages: list[TaskMessage] = []
        for number, piece in enumerate(self._pieces(rows(), part.pieces), part.first_piece):
            messages += self._written(piece, number, attempt)
        if not by_query:
            return messages
        for message in messages:
            if message.kind == "file":
                with suppress(SqlextError, OSError):
                    self.plan.io.delete(message.path)
        return None

    def _written(self, rows: Iterator[pa.RecordBatch], number: int, attempt: int) -> Iterator[TaskMessage]:
        for batch in write_rows(self.plan, task_identity=lambda: (number, attempt))(rows):
            yield from decode_messages(batch)

    def _pieces(self, rows: Iterator[pa.RecordBatch], pieces: int) -> Iterator[Iterator[pa.RecordBatch]]:
        """The rows as they come, or sorted and divided evenly."""
        if self.sort is None:
            yield rows
            return
        shape = self.columns.shape(lineage=self.lineage, origins=True)
        ordered = self.sort.sorted(pa.Table.from_batches(rows, shape))
        size = -(-ordered.num_rows // pieces)
        for start in range(0, ordered.num_rows, max(size, 1)):
            yield map(_apart, ordered.slice(start, size).to_batches(_SORTED_BATCH))

    def _stored(self, io: FileIO, part: RewritePart) -> Iterator[pa.RecordBatch]:
        for number, task in part.files:
            yield from live_rows(
                io,
                task,
                self.columns,
                lineage=self.lineage,
                source=number,
                ordinals=True,
                threads=False,
                coded=self.sort is None,
            )


def _apart(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch; with memory of its own if it has nested columns, whose size a writer takes from their memory."""
    if not any(pa.types.is_nested(column.type) for column in batch.columns):
        return batch
    return pa.concat_batches([batch, batch.slice(0, 0)])


def write_numbered(
    writer: PartWriter, parts: Sequence[RewritePart], identity: TaskIdentity, number: int
) -> Sequence[TaskMessage] | None:
    """Writes the part of this number in the running task; see `PartWriter.write`."""
    return writer.write(parts[number], attempt=identity()[1])


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
