"""Data files read by a task without a query: their rows are written anew, with new values or left out.

The rows of a task come in the order of files and positions. A row with a `FileCopy` begins a file; the rows behind it
are the new values of updated rows of that file. Rows without a position are inserted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyroaring import BitMap64

from sqlext.scan.files.file_columns import PARQUET
from sqlext.scan.live_rows import RowColumns, live_rows, row_group_starts
from sqlext.scan.scan_plan import FileScanTask
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.position_set import position_array
from sqlext.spec.manifests.row_lineage import ROW_ID
from sqlext.spec.schema import Schema
from sqlext.storage.file_io import FileIO
from sqlext.write.alignment import Aligner
from sqlext.write.coded_texts import in_parts
from sqlext.write.commit_message import TaskMessage, file_message
from sqlext.write.data_writer import DataWriter, held_bytes
from sqlext.write.task import TaskIdentity, WriteTask, write_task
from sqlext.write.write_plan import WritePlan

PLACE_COLUMNS = 2
"""A `FileCopy` as bytes or null, and a position or null, precede the new values."""

# New values wait until there are so many bytes of them; and of rows of the file so many are taken together.
_WAITING_BYTES, _TOGETHER_BYTES = 16 * 1024 * 1024, 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FileCopy:
    """A data file to copy, without equality deletes. The rows at `changed`, a portable 64-bit roaring bitmap of live
    positions, are left out unless new values follow."""

    file: FileScanTask
    changed: bytes

    def packed(self) -> bytes:
        """What copying needs of it: JSON, a line feed, and both bitmaps. The file's partition and metrics are left
        out."""
        task, file = self.file, self.file.file
        deletes = task.position_deletes or b""
        told = {
            "path": file.file_path,
            "rows": file.record_count,
            "bytes": file.file_size_in_bytes,
            "spec": file.spec_id,
            "first_row_id": file.first_row_id,
            "sequence_number": task.sequence_number,
            "deleted_rows": task.deleted_rows,
            "delete_bytes": len(deletes),
        }
        return json.dumps(told).encode() + b"\n" + deletes + self.changed

    @classmethod
    def unpacked(cls, packed: bytes) -> FileCopy:
        """The inverse of `packed`."""
        line, _, bitmaps = packed.partition(b"\n")
        told = json.loads(line)
        file = ContentFile(
            Content.DATA,
            told["path"],
            PARQUET,
            told["spec"],
            (),
            told["rows"],
            told["bytes"],
            first_row_id=told["first_row_id"],
        )
        deletes, changed = bitmaps[: told["delete_bytes"]], bitmaps[told["delete_bytes"] :]
        return cls(FileScanTask(file, told["sequence_number"], 0, deletes or None, told["deleted_rows"]), changed)


@dataclass(frozen=True)
class CopiedColumns:
    """The columns of a table, and with `lineage` row ids and sequence numbers behind them. Those with the numbers
    `given` have new values, sequence numbers null ones; the others are copied. Inserted rows have all columns, and may
    have row ids. Unless `keeps_others`, rows without new values are left out."""

    columns: RowColumns
    given: tuple[int, ...]
    lineage: bool
    keeps_others: bool = True

    @property
    def new(self) -> Schema:
        stored = (*self.columns.fields, ROW_ID)
        return Schema(tuple(stored[number] for number in self.given))


def copy_files(plan: WritePlan, columns: CopiedColumns, *, task_identity: TaskIdentity) -> WriteTask:
    """A task that writes the rows of files, with changes, to new data files; in a sorted table each to files of its
    own. `task_identity` is as in `write_rows`."""
    return write_task(
        plan, lambda io, task, attempt: _Copies(io, plan, columns, task, attempt), task_identity, may_leave=True
    )


class _Copies:
    def __init__(self, io: FileIO, plan: WritePlan, columns: CopiedColumns, task_id: int, attempt: int) -> None:
        self._io, self._plan, self._columns, self._place = io, plan, columns, (task_id, attempt)
        self._aligner = Aligner(columns.new, plan.table_name)
        self._writers = [DataWriter(io, plan, task_id, attempt)]
        self._finished: list[ContentFile] = []
        self._copied: _CopiedRows | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        begins = np.flatnonzero(batch.column(0).is_valid().to_numpy(zero_copy_only=False)).tolist()
        self._take(batch.slice(0, begins[0] if begins else batch.num_rows))
        for start, end in pairwise([*begins, batch.num_rows]):
            self._end()
            self._begin(FileCopy.unpacked(batch.column(0)[start].as_py()))
            self._take(batch.slice(start + 1, end - start - 1))

    def close(self) -> list[TaskMessage]:
        self._end()
        return [file_message(file) for file in (*self._finished, *self._writers[-1].close())]

    def abort(self) -> None:
        for writer in self._writers:
            writer.abort()

    def _begin(self, copy: FileCopy) -> None:
        if self._plan.sort_order_id and self._copied is not None:
            # A file of rows from two files would not be sorted.
            self._finished += self._writers[-1].close()
            plan = replace(self._plan, operation_id=f"{self._plan.operation_id}-{len(self._writers)}")
            self._writers.append(DataWriter(self._io, plan, *self._place))
        self._copied = _CopiedRows(self._io, copy, self._columns, self._writers[-1].write)

    def _end(self) -> None:
        if self._copied is not None:
            self._copied.end()

    def _take(self, batch: pa.RecordBatch) -> None:
        """Takes new values of rows of the file that has begun, and inserted rows."""
        inserted = batch.column(1).is_null()
        if pc.any(inserted).as_py():
            self._insert(batch.filter(inserted))
            batch = batch.filter(pc.invert(inserted))
        if batch.num_rows:
            assert self._copied is not None
            positions = batch.column(1).to_numpy()
            self._copied.take(positions, self._aligned(batch))

    def _insert(self, batch: pa.RecordBatch) -> None:
        rows = self._aligned(batch)
        shape = self._columns.columns.shape(lineage=self._columns.lineage, origins=False)
        inherited = [pa.nulls(batch.num_rows, pa.int64())] * (len(shape) - rows.num_columns)
        self._writers[-1].write(pa.RecordBatch.from_arrays([*rows.columns, *inherited], schema=shape))

    def _aligned(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return self._aligner.align(batch.columns[PLACE_COLUMNS:])


@dataclass(frozen=True, slots=True)
class _NewValues:
    """New values of rows at positions that ascend, and about how many bytes a row of them takes."""

    positions: NDArray[np.int64]
    values: pa.RecordBatch
    row_bytes: float

    @property
    def bytes(self) -> float:
        return self.row_bytes * len(self.positions)

    def slice(self, start: int, end: int) -> _NewValues:
        return _NewValues(self.positions[start:end], self.values.slice(start, end - start), self.row_bytes)


class _CopiedRows:
    """The rows of one file on their way, batch by batch. New values wait for the batch of their positions."""

    def __init__(
        self, io: FileIO, copy: FileCopy, columns: CopiedColumns, write: Callable[[pa.RecordBatch], None]
    ) -> None:
        self._columns, self._write, self._path = columns, write, copy.file.file.file_path
        self._changed = position_array(BitMap64.deserialize(copy.changed))
        groups = None if columns.keeps_others else partial(_groups_with, self._changed)
        self._rows: Iterator[pa.RecordBatch] = live_rows(
            io, copy.file, columns.columns, lineage=columns.lineage, source=0, threads=False, groups=groups, coded=True
        )
        self._next = next(self._rows, None)
        self._waiting: list[_NewValues] = []
        self._waiting_bytes = 0.0

    def take(self, positions: NDArray[np.int64], values: pa.RecordBatch) -> None:
        """Takes new values at positions that ascend, from call to call too."""
        self._waiting.append(_NewValues(positions, values, sum(map(held_bytes, values.columns)) / len(positions)))
        self._waiting_bytes += self._waiting[-1].bytes
        while self._next is not None and _positions(self._next)[-1] < positions[-1]:
            self._copy_next(self._next.num_rows)
        if self._next is not None and self._waiting_bytes > _WAITING_BYTES:
            self._copy_next(int(np.searchsorted(_positions(self._next), positions[-1], side="right")))

    def end(self) -> None:
        """Writes the remaining rows. Raises ValueError for values at a position without a live row."""
        while self._next is not None:
            self._copy_next(self._next.num_rows)
        if self._waiting:
            raise ValueError(f"{self._path} has no live row at position {self._waiting[0].positions[0]}")

    def _copy_next(self, count: int) -> None:
        """Writes the first rows of the next batch, all of whose new values are there."""
        assert self._next is not None
        for part in in_parts(self._next.slice(0, count), _TOGETHER_BYTES) if count else ():
            self._copy(part)
        left = self._next.slice(count)
        self._next = left if left.num_rows else next(self._rows, None)

    def _copy(self, batch: pa.RecordBatch) -> None:
        positions = _positions(batch)
        updated, values = self._until(positions[-1])
        places = self._places(positions, updated)
        start, end = np.searchsorted(self._changed, [positions[0], positions[-1] + 1])
        stays = np.full(batch.num_rows, self._columns.keeps_others)
        stays[self._places(positions, self._changed[start:end])] = False
        stays[places] = True
        if stays.any():
            self._write(self._changed_rows(batch, np.flatnonzero(stays), places, values))

    def _places(self, positions: NDArray[np.int64], changed: NDArray[np.int64]) -> NDArray[np.intp]:
        """The indices of changed positions among those of live rows, both ascending. Raises ValueError for a row that
        is not live: another would be changed in its place."""
        places = np.searchsorted(positions, changed)
        if not np.array_equal(positions[places], changed):
            raise ValueError(f"{self._path} has changed rows that are not live")
        return places

    def _until(self, position: int) -> tuple[NDArray[np.int64], Sequence[pa.RecordBatch]]:
        """Takes the waiting values up to a position away."""
        ready, left = [], []
        for one in self._waiting:
            count = int(np.searchsorted(one.positions, position, side="right"))
            if count:
                ready.append(one.slice(0, count))
            if count < len(one.positions):
                left.append(one.slice(count, len(one.positions)))
        self._waiting, self._waiting_bytes = left, sum(one.bytes for one in left)
        positions = np.concatenate([np.zeros(0, np.int64), *(one.positions for one in ready)])
        return positions, [one.values for one in ready]

    def _changed_rows(
        self,
        batch: pa.RecordBatch,
        stays: NDArray[np.intp],
        updated: NDArray[np.intp],
        values: Sequence[pa.RecordBatch],
    ) -> pa.RecordBatch:
        """The rows of the batch at `stays`, those at `updated` with new values."""
        count = batch.num_rows
        columns = list(batch.columns[:-2])
        whole = len(stays) == count
        # Not `filter`, which takes several times as long.
        kept = pa.array(stays.astype(np.int32))
        from_new = np.arange(count, dtype=np.int32)
        from_new[updated] = np.arange(count, count + len(updated), dtype=np.int32)
        taken = pa.array(from_new[stays])
        given = {number: at for at, number in enumerate(self._columns.given)} if len(updated) else {}
        for number, column in enumerate(columns):
            if number in given:
                new = [one.column(given[number]) for one in values]
                old = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
                columns[number] = pa.concat_arrays([old, *new]).take(taken)
            elif not whole:
                columns[number] = column.take(kept)
        if self._columns.lineage and len(updated):
            # Null is inherited: the sequence number of this commit (spec: Row Lineage).
            is_new = np.zeros(count, np.bool_)
            is_new[updated] = True
            columns[-1] = pc.if_else(pa.array(is_new[stays]), pa.scalar(None, pa.int64()), columns[-1])
        return pa.RecordBatch.from_arrays(columns, batch.schema.names[:-2])


def _groups_with(positions: NDArray[np.int64], footer: pq.FileMetaData, _: Mapping[int, str]) -> Sequence[int]:
    """The row groups that have a row at one of the positions, which ascend."""
    bounds = np.searchsorted(positions, row_group_starts(footer)).tolist()
    return [index for index, (start, end) in enumerate(pairwise(bounds)) if start < end]


def _positions(batch: pa.RecordBatch) -> NDArray[np.int64]:
    positions: NDArray[np.int64] = batch.column(batch.num_columns - 1).to_numpy()
    return positions
