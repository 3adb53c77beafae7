"""Rows to data files or equality-delete files, by partition, in row groups, up to a target size."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa

from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.manifests.row_origins import ORIGIN_COLUMNS, OriginRuns
from sqlext.spec.schema import Schema
from sqlext.spec.stored_fields import stored_schema
from sqlext.storage.file_io import FileIO
from sqlext.write.alignment import Aligner
from sqlext.write.coded_texts import coded_columns, decoded, in_parts
from sqlext.write.encoding import Encodings, choose_encodings
from sqlext.write.parquet_file import ParquetFile, ParquetLayout
from sqlext.write.partitioner import Partition, Partitioner
from sqlext.write.spill_file import SpilledRows, SpillFile
from sqlext.write.write_plan import WritePlan

# The most Arrow memory of a row group's rows.
MAX_GROUP_BYTES = 128 * 1024 * 1024
# A row group has so many rows, and more of narrow ones, until they take so many bytes of Arrow memory. Readers pass
# over row groups, and share them among cores; of each that they do not pass over they test its dictionaries first.
LEAST_GROUP_ROWS = 262_144
_MOST_GROUP_ROWS = 1_048_576
_GROUP_BYTES = 16 * 1024 * 1024
MAX_OPEN_FILES = 64
_OFFSET_BYTES = 4
# The number of files that are finished at a time.
_TOGETHER = 8
# Rows split among partitions at a time: the cost of a split grows with columns and partitions more than with rows.
SPLIT_ROWS = 131_072
SPLIT_BYTES = 32 * 1024 * 1024
# The share of the target size at which a file is closed, since only a tiny row group would still fit.
_FULL = 0.9
# Encodings are chosen again for a file whose first row group has this many times the rows of the last sample.
_MORE_ROWS = 4
# A lower density of a row group says little about the rows that follow.
_LEAST_DENSITY = 0.05


class DataWriter:
    """Writes the rows of one task. Columns go by position; files are named by task, attempt and operation.

    Rows stay in memory until they fill a row group, so a partition of few rows needs no open file. Rows beyond the
    plan's buffer, of more partitions than files may be open, are spilled to the local disk. Raises DataError for a row
    that the table cannot hold, StorageError of the store. After any error call `abort`.
    """

    def __init__(self, io: FileIO, plan: WritePlan, task_id: int, attempt: int) -> None:
        self._writer = ContentWriter(io, plan, plan.schema, Content.DATA, f"{task_id:05d}-{attempt}")

    def write(self, batch: pa.RecordBatch) -> None:
        """Takes rows in the columns of the plan's schema."""
        self._writer.write(batch.columns)

    def close(self) -> list[ContentFile]:
        """Writes the remaining rows and returns all files, which are durable; none if there was no row."""
        return self._writer.close()

    @property
    def origins(self) -> Mapping[str, bytes]:
        """The origins of the rows of each finished file by its path, as `OriginRuns.packed`; none unless the plan has
        them."""
        return self._writer.origins

    def abort(self) -> None:
        """Deletes every file of this writer."""
        self._writer.abort()


class ContentWriter:
    """Writes rows of `schema`, which has all source columns of the plan's partition spec."""

    def __init__(
        self,
        io: FileIO,
        plan: WritePlan,
        schema: Schema,
        content: Content,
        name_prefix: str,
        equality_ids: tuple[int, ...] | None = None,
    ) -> None:
        self._io = io
        self._plan = plan
        self._content = content
        self._equality_ids = equality_ids
        self._names = _file_names(name_prefix, plan.operation_id, content)
        taken = replace(schema, fields=(*schema.fields, *ORIGIN_COLUMNS)) if plan.has_origins else schema
        self._aligner = Aligner(taken, plan.table_name)
        stored = stored_schema(schema)
        self._layout = ParquetLayout.of(
            stored,
            plan.metrics,
            plan.compression,
            plan.compression_level,
            plan.bloom_filters if content == Content.DATA else None,
            plan.chunks,
        )
        self._partitioner = None if plan.spec.is_unpartitioned else Partitioner(stored, plan.spec)
        self._unsplit: list[pa.RecordBatch] = []
        self._unsplit_bytes = 0
        self._partitions: OrderedDict[object, _PartitionRows] = OrderedDict()
        self._held_bytes = 0
        self._spill = SpillFile()
        self._encodings: Encodings | None = None
        self._judged_rows = 0
        self._row_bytes = 0.0
        self._finished: list[ContentFile] = []
        self.origins: dict[str, bytes] = {}
        """The origins of each finished file's rows, by its path, if the plan has them."""

    def write(self, columns: list[pa.Array]) -> None:
        """Takes rows."""
        batch = self._aligner.align(columns)
        if batch.num_rows == 0:
            return
        if any(pa.types.is_dictionary(field.type) for field in batch.schema):
            for part in in_parts(batch, MAX_GROUP_BYTES):
                self._take(part if self._partitioner is None else decoded(part))
        else:
            self._take(batch)

    def _take(self, batch: pa.RecordBatch) -> None:
        self._row_bytes = sum(map(held_bytes, batch.columns)) / batch.num_rows
        if self._partitioner is None:
            self._add((None,) * len(self._plan.spec.fields), batch)
            return
        self._unsplit.append(batch)
        self._unsplit_bytes += self._size(batch)
        rows = sum(one.num_rows for one in self._unsplit)
        if rows >= SPLIT_ROWS or self._unsplit_bytes >= SPLIT_BYTES:
            self._split()

    def close(self) -> list[ContentFile]:
        """Writes the remaining rows and returns the files in the order in which they were finished."""
        self._split()
        # Open files first, so that none is finished early for another to be opened.
        waiting = sorted(self._partitions.values(), key=lambda one: one.file is None)
        for first in range(0, len(waiting), _TOGETHER):
            together = waiting[first : first + _TOGETHER]
            for rows in together:
                self._write_group(rows)
            self._finish_files(together)
        self._partitions.clear()
        self._spill.close()
        return self._finished

    def abort(self) -> None:
        """Deletes every file, finished or not."""
        for rows in self._partitions.values():
            if rows.file is not None:
                rows.file.abort()
        self._partitions.clear()
        self._unsplit.clear()
        self._spill.close()
        for file in self._finished:
            # Files that cannot be deleted here are left to the clean-up of the operation.
            with suppress(Exception):
                self._io.delete(file.file_path)
        self._finished = []

    def _split(self) -> None:
        if self._partitioner is None or not self._unsplit:
            return
        batch = self._unsplit[0] if len(self._unsplit) == 1 else pa.concat_batches(self._unsplit)
        self._unsplit, self._unsplit_bytes = [], 0
        for partition, part in self._partitioner.split(batch):
            self._add(partition, part)

    def _add(self, partition: Partition, batch: pa.RecordBatch) -> None:
        key = _hashable(partition)
        rows = self._partitions.get(key)
        if rows is None:
            rows = self._partitions[key] = _PartitionRows(partition, self._plan)
        self._partitions.move_to_end(key)
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, rows.missing_rows)
            size = self._size(part)
            rows.add(part, size)
            self._held_bytes += size
            if rows.missing_rows == 0 or rows.waiting_bytes >= rows.group_bytes:
                self._write_group(rows)
            start += part.num_rows
        self._bound_memory()

    def _size(self, batch: pa.RecordBatch) -> int:
        """Estimated bytes of the rows in memory, by the mean of the last batch that was taken."""
        return int(batch.num_rows * self._row_bytes)

    def _bound_memory(self) -> None:
        """Writes the largest row groups early once the partitions together exceed the plan's buffer.

        If that needs more files than may be open, all rows are spilled instead, in their order: a file that is finished
        so that another can be opened would be small.
        """
        most = self._plan.buffer_size
        if self._held_bytes <= most:
            return
        for rows in sorted(self._partitions.values(), key=lambda one: one.held_bytes, reverse=True):
            if self._plan.spills and rows.file is None and self._open_files() >= MAX_OPEN_FILES:
                self._spill_all()
                return
            self._write_group(rows)
            if self._held_bytes <= most // 2:
                return

    def _open_files(self) -> int:
        return sum(rows.file is not None for rows in self._partitions.values())

    def _spill_all(self) -> None:
        for rows in self._partitions.values():
            if rows.batches:
                rows.spilled.append(self._spill.put(rows.batches, rows.held_bytes))
                rows.batches, rows.held_bytes = [], 0
        self._held_bytes = 0

    def _write_group(self, rows: _PartitionRows) -> None:
        if not rows.batches and not rows.spilled:
            return
        self._held_bytes -= rows.held_bytes
        rows.take_back(self._spill)
        if rows.file is None:
            self._bound_open_files()
            rows.file = self._open_file(rows)
        rows.write_group(rows.file)
        if rows.file.size >= _FULL * self._plan.target_file_size:
            self._finish_file(rows)

    def _bound_open_files(self) -> None:
        """Finishes the file whose partition has had no rows for longest, if no further one may be open."""
        open_files = [rows for rows in self._partitions.values() if rows.file is not None]
        if len(open_files) >= MAX_OPEN_FILES:
            self._finish_file(open_files[0])

    def _open_file(self, rows: _PartitionRows) -> ParquetFile:
        location = self._plan.file_location(self._plan.spec.spec_id, rows.partition, next(self._names))
        encodings = self._encodings_for(rows.batches)
        coded = coded_columns(rows.batches)
        return ParquetFile(self._io, location, self._layout, encodings, rows.count, rows.held_bytes, coded)

    def _encodings_for(self, batches: list[pa.RecordBatch]) -> Encodings:
        """The encodings of an earlier file of this writer; chosen again if these batches are a much larger sample."""
        rows = sum(batch.num_rows for batch in batches)
        if self._encodings is None or rows > _MORE_ROWS * self._judged_rows:
            self._encodings = choose_encodings(self._layout.columns, batches, self._layout.chunks)
            self._judged_rows = rows
        return self._encodings

    def _finish_files(self, together: Sequence[_PartitionRows]) -> None:
        """Finishes the files in parallel, since each waits for the disk."""
        opened = [rows for rows in together if rows.file is not None]
        if len(opened) < 2:
            for rows in opened:
                self._finish_file(rows)
            return
        with ThreadPoolExecutor(len(opened)) as threads:
            finished = [threads.submit(self._made_durable, rows) for rows in opened]
        self._finished += [one.result() for one in finished if one.exception() is None]
        for one in finished:
            one.result()

    def _finish_file(self, rows: _PartitionRows) -> None:
        if rows.file is not None:
            self._finished.append(self._made_durable(rows))

    def _made_durable(self, rows: _PartitionRows) -> ContentFile:
        assert rows.file is not None
        order = self._plan.sort_order_id if self._content == Content.DATA else None
        file = rows.file.finish(self._content, self._plan.spec.spec_id, rows.partition, self._equality_ids, order)
        rows.file = None
        if rows.origins is not None:
            self.origins[file.file_path] = rows.origins.packed()
            rows.origins = OriginRuns()
        return file


class _PartitionRows:
    """The rows of one partition for its next row group, those spilled before them, and its open file."""

    def __init__(self, partition: Partition, plan: WritePlan) -> None:
        self.partition = partition
        self.batches: list[pa.RecordBatch] = []
        self.count = 0
        """The number of rows, spilled ones included."""
        self.held_bytes = 0
        self.spilled: list[SpilledRows] = []
        self.file: ParquetFile | None = None
        self.origins = OriginRuns() if plan.has_origins else None
        self._plan = plan
        # Encoded bytes per byte of Arrow memory; a safe guess until a row group is written, and about the bytes before
        # compression.
        self._density = 1.0

    @property
    def group_bytes(self) -> int:
        """Bytes of Arrow memory that fill the next row group, so that neither it nor its file exceeds its size."""
        written = 0 if self.file is None else self.file.size
        encoded = min(self._plan.row_group_size, self._plan.target_file_size - written)
        return int(min(MAX_GROUP_BYTES, encoded / self._density))

    @property
    def missing_rows(self) -> int:
        """The number of rows that the next row group may have beside those that wait for it."""
        most = self._plan.row_group_rows
        if most is None:
            most = LEAST_GROUP_ROWS
            if self.count:
                most = min(_MOST_GROUP_ROWS, max(most, _GROUP_BYTES * self.count // max(1, self.waiting_bytes)))
        return max(0, most - self.count)

    @property
    def waiting_bytes(self) -> int:
        """Bytes of Arrow memory that the rows of the next row group take, spilled ones included."""
        return self.held_bytes + sum(one.held_bytes for one in self.spilled)

    def take_back(self, spill: SpillFile) -> None:
        """Reads the spilled rows back, before the others."""
        self.held_bytes = self.waiting_bytes
        self.batches = [*(batch for one in self.spilled for batch in spill.take(one)), *self.batches]
        self.spilled = []

    def add(self, batch: pa.RecordBatch, size: int) -> None:
        self.batches.append(batch)
        self.count += batch.num_rows
        self.held_bytes += size

    def write_group(self, file: ParquetFile) -> None:
        before = file.size
        file.write_row_group(self.batches if self.origins is None else self._without_origins(self.origins))
        if not self._plan.uncompressed_row_groups:
            self._density = max(_LEAST_DENSITY, (file.size - before) / max(1, self.held_bytes))
        self.batches, self.count, self.held_bytes = [], 0, 0

    def _without_origins(self, origins: OriginRuns) -> list[pa.RecordBatch]:
        """The rows' own columns; their origins are kept."""
        for batch in self.batches:
            source, position = (column.to_numpy() for column in batch.columns[-len(ORIGIN_COLUMNS) :])
            origins.add(source, position)
        return [batch.select(range(batch.num_columns - len(ORIGIN_COLUMNS))) for batch in self.batches]


def _file_names(prefix: str, operation_id: str, content: Content) -> Iterator[str]:
    suffix = "" if content == Content.DATA else "-deletes"
    number = 0
    while True:
        number += 1
        yield f"{prefix}-{operation_id}-{number:05d}{suffix}.parquet"


def held_bytes(column: pa.Array) -> int:
    """The bytes of a column's values, of codes about those of the values that they stand for; of the whole array that a
    nested one is a slice of."""
    if pa.types.is_dictionary(column.type):
        return int(len(column) * (_OFFSET_BYTES + column.dictionary.nbytes / max(1, len(column.dictionary))))
    # Not `nbytes` of nested ones: it reads their offsets, which the JVM leaves out where there are no elements.
    held: int = column.get_total_buffer_size() if pa.types.is_nested(column.type) else column.nbytes
    return held


def _hashable(partition: tuple[Any, ...]) -> object:
    # NaN is not equal to itself, and yet one partition.
    return tuple("NaN" if value != value else value for value in partition)
