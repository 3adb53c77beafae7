"""New rows of an UPDATE without the columns that they keep, completed by the task that writes them: it reads these
columns from the data files, row group by row group, as the rows come.

For few rows, `sqlext.write.kept_columns` reads single values by position.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sqlext.errors import OnlyByQuery
from sqlext.scan.files.file_columns import PARQUET
from sqlext.scan.live_rows import RowColumns, live_rows, opened, reading, row_group_starts
from sqlext.scan.scan_plan import FileScanTask
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.schema import Schema
from sqlext.storage.file_io import FileIO
from sqlext.write.arrow_schema import schema_to_arrow
from sqlext.write.row_operation import OPERATION_COLUMNS
from sqlext.write.task import TaskIdentity, WriteTask, write_changes
from sqlext.write.write_plan import WritePlan

# A row group is decoded again if rows of it come after those of another, or before those that were read. In a scan's
# order none is.
_MOST_REPEATS = 16


def complete_in_order(
    plan: WritePlan, schema: Schema, names: Collection[str], *, task_identity: TaskIdentity
) -> WriteTask:
    """`write_changes` for updated rows without the columns `names` of the schema, in the order of a scan: those of a
    file, or of a part of it, one after the other, by position.

    It ends with the count `BY_QUERY`, and no file, if the rows are in another order, or only a query reads a file.
    """
    kept = {number: field for number, field in enumerate(schema.fields) if field.name in names}
    fields = tuple(kept.values())
    columns = RowColumns(fields, schema_to_arrow(Schema(fields)))
    write = write_changes(plan, task_identity=task_identity, may_leave=True)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        stored = _StoredColumns(plan.io, columns)
        return write(whole for batch in batches for whole in _completed(batch, stored, tuple(kept)))

    return run


def _completed(batch: pa.RecordBatch, stored: _StoredColumns, numbers: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """The rows of the batch with the stored columns, at these numbers among the table's."""
    files = batch.column(1)
    if not pa.types.is_dictionary(files.type):
        files = files.dictionary_encode()
    codes = files.indices.to_numpy(zero_copy_only=False)
    positions = batch.column(2).to_numpy(zero_copy_only=False)
    ends = np.flatnonzero((np.diff(codes) != 0) | (np.diff(positions) < 0)) + 1
    for start, end in pairwise([0, *ends.tolist(), batch.num_rows]):
        at = start
        for found in stored.at(files.dictionary[int(codes[start])].as_py(), positions[start:end]):
            part = batch.slice(at, found.num_rows)
            at += found.num_rows
            columns, names = list(part.columns), list(part.schema.names)
            for number, name, column in zip(numbers, found.schema.names, found.columns, strict=True):
                columns.insert(OPERATION_COLUMNS + number, column)
                names.insert(OPERATION_COLUMNS + number, name)
            yield pa.RecordBatch.from_arrays(columns, names)


class _StoredColumns:
    """The columns of data files at positions; the batch that was read last is kept."""

    def __init__(self, io: FileIO, columns: RowColumns) -> None:
        self._io, self._columns = io, columns
        self._file: FileScanTask | None = None
        self._starts: NDArray[np.int64] = np.zeros(1, np.int64)
        self._group: int | None = None
        self._rows: Iterator[pa.RecordBatch] = iter(())
        self._batch: pa.RecordBatch | None = None
        self._first = 0
        self._seen: dict[str, set[int]] = {}
        self._repeats = 0

    def at(self, path: str, positions: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
        """The rows at the positions, which ascend, in their order. Raises as `live_rows`, and OnlyByQuery if too many
        row groups are asked for again."""
        if self._file is None or self._file.file.file_path != path:
            self._open(path)
        groups = np.searchsorted(self._starts, positions, side="right") - 1
        ends = np.flatnonzero(np.diff(groups)) + 1
        for start, end in pairwise([0, *ends.tolist(), len(positions)]):
            yield from self._in_group(int(groups[start]), positions[start:end])

    def _in_group(self, group: int, positions: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
        if group != self._group or positions[0] < self._first:
            self._read(group)
        while len(positions):
            if self._batch is None:
                raise ValueError(f"{self._path} has no row at position {positions[0]}")
            count = int(np.searchsorted(positions, self._first + self._batch.num_rows))
            if count:
                rows = pa.array((positions[:count] - self._first).astype(np.int32))
                columns = [column.take(rows) for column in self._batch.columns[:-2]]
                yield pa.RecordBatch.from_arrays(columns, self._batch.schema.names[:-2])
            positions = positions[count:]
            if len(positions):
                self._advance()

    def _advance(self) -> None:
        self._batch = next(self._rows, None)
        if self._batch is not None:
            self._first = self._batch.column(self._batch.num_columns - 1)[0].as_py()

    @property
    def _path(self) -> str:
        assert self._file is not None
        return self._file.file.file_path

    def _open(self, path: str) -> None:
        with reading(path):
            file = ContentFile(Content.DATA, path, PARQUET, 0, (), 0, self._io.size(path))
            with opened(self._io, file) as stored:
                footer = pq.read_metadata(stored)
        self._file, self._starts, self._group = FileScanTask(file, 0, 0), row_group_starts(footer), None

    def _read(self, group: int) -> None:
        seen = self._seen.setdefault(self._path, set())
        self._repeats += group in seen
        if self._repeats > _MOST_REPEATS:
            raise OnlyByQuery(self._path)
        seen.add(group)
        assert self._file is not None
        self._rows = live_rows(
            self._io,
            self._file,
            self._columns,
            lineage=False,
            source=0,
            threads=False,
            groups=_only(group),
            coded=True,
        )
        self._group = group
        self._advance()


def _only(group: int) -> Callable[[pq.FileMetaData, Mapping[int, str]], Sequence[int]]:
    return lambda footer, names: (group,)
