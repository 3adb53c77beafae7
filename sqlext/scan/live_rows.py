"""The live rows of a Parquet data file as Arrow, projected to a table's current columns (spec: Column Projection)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyroaring import BitMap64

from sqlext.errors import CorruptionError, NotFoundError, OnlyByQuery
from sqlext.scan.scan_plan import FileScanTask
from sqlext.spec.arrow_field_id import fields_by_id
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.spec.manifests.position_set import position_array
from sqlext.spec.manifests.row_lineage import LAST_UPDATED, ROW_ID
from sqlext.spec.manifests.row_origins import ORIGIN_COLUMNS
from sqlext.spec.nesting import MAX_LEVELS, levels
from sqlext.spec.schema import Schema
from sqlext.spec.types import NestedField, UnknownType, VariantType
from sqlext.storage.file_io import FileIO

_KIND = "data file"
# Up to this size a read of all bytes, and one thread, take less time than several reads and threads.
_WHOLE_BYTES = 4 * 1024 * 1024
_BATCH_BYTES = 16 * 1024 * 1024
# A text of more bytes, on average, has many distinct values, or its dictionary was given up.
_CODE_BYTES = 3
# As pyarrow reads them.
_CODES = pa.dictionary(pa.int32(), pa.string())
_LEAST_ROWS, _MOST_ROWS = 1024, 131_072
# By Arrow type of a table's column: other types that files of other writers, or before a promotion, have for it.
_ALIKE = {
    pa.string(): (pa.large_string(), pa.string_view()),
    pa.binary(): (pa.large_binary(), pa.binary_view()),
    pa.binary(16): (pa.uuid(),),
    pa.int64(): (pa.int32(),),
    pa.float64(): (pa.float32(),),
}


@dataclass(frozen=True, slots=True)
class RowColumns:
    """The columns to read: `fields` of a schema, and the Arrow field of each in new data files of the table."""

    fields: Sequence[NestedField]
    arrow: pa.Schema

    def shape(self, *, lineage: bool, origins: bool) -> pa.Schema:
        """The columns of `live_rows`, all nullable, without field ids."""
        behind = ((ROW_ID, LAST_UPDATED) if lineage else ()), (ORIGIN_COLUMNS if origins else ())
        numbers = [(field.name, pa.int64()) for fields in behind for field in fields]
        return pa.schema([*((one.name, one.type) for one in self.arrow), *numbers])


def unread_type(schema: Schema) -> str | None:
    """Which type of a table's columns is not read here, in words; None if all are."""
    if any(isinstance(schema.field(id).type, VariantType | UnknownType) for id in schema.field_ids):
        return "a column is of type variant or unknown"
    if any(levels(field.type) > MAX_LEVELS for field in schema.fields):
        return f"a column has more than {MAX_LEVELS} levels"
    return None


def live_rows(
    io: FileIO,
    task: FileScanTask,
    columns: RowColumns,
    *,
    lineage: bool,
    source: int | None = None,
    ordinals: bool = False,
    threads: bool = True,
    groups: Callable[[pq.FileMetaData, Mapping[int, str]], Sequence[int]] | None = None,
    coded: bool = False,
) -> Iterator[pa.RecordBatch]:
    """The rows that are not deleted by position, in order, in batches of `RowColumns.shape`; equality deletes are
    ignored.

    With `lineage` the columns `_row_id` and `_last_updated_sequence_number` follow (spec: Row Lineage), and with
    `source` the columns `ORIGIN_COLUMNS`: this number, and the row's position or, with `ordinals`, its number among the
    rows that are not deleted, from 0. Columns without field ids in the file count as missing. Unless `threads`, which a
    task of Spark has no cores for, one thread decodes all columns. `groups` tells which row groups are read, in order,
    by the footer and the names of the file's columns by field id. With `coded` texts of few distinct values may come as
    codes of a dictionary, as they are in the file. Raises OnlyByQuery, with the path, before the first row,
    NotFoundError or CorruptionError naming the file.
    """
    path = task.file.file_path
    with reading(path), opened(io, task.file) as stored, parquet_file(stored, coded=coded) as file:
        there = fields_by_id(stored_columns(file))
        wanted = [there.get(field.id) for field in columns.fields]
        if not there or not all(map(is_taken, columns.arrow, wanted)):
            raise OnlyByQuery(path)
        names = {id: field.name for id, field in there.items()}
        read = range(file.num_row_groups) if groups is None else groups(file.metadata, names)
        yield from _projected(
            file, task, columns, wanted, there if lineage else None, source, ordinals, threads, read, coded
        )


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Raises NotFoundError or CorruptionError, naming the data file, for what cannot be read of it in the block."""
    try:
        yield
    except FileNotFoundError as error:
        raise NotFoundError("FILE_NOT_FOUND", path=path, kind=_KIND) from error
    except (pa.ArrowException, OSError, ValueError) as error:
        raise CorruptionError("CORRUPT_FILE", path=path, kind=_KIND, reason=error) from error


def _projected(
    file: pq.ParquetFile,
    task: FileScanTask,
    columns: RowColumns,
    wanted: Sequence[pa.Field | None],
    lineage: Mapping[int, pa.Field] | None,
    source: int | None,
    ordinals: bool,
    threads: bool,
    groups: Sequence[int],
    coded: bool,
) -> Iterator[pa.RecordBatch]:
    """As `live_rows`, of row groups; `lineage` are the file's columns by field id, None if lineage is not asked for."""
    moved = (
        [] if lineage is None else [lineage[field.id].name for field in (ROW_ID, LAST_UPDATED) if field.id in lineage]
    )
    names = [*(field.name for field in wanted if field is not None), *moved]
    live = None if task.position_deletes is None else _live(task.deleted_positions(), file.metadata.num_rows)
    shape = columns.shape(lineage=lineage is not None, origins=source is not None)
    kept = 0
    parallel = threads and task.file.file_size_in_bytes > _WHOLE_BYTES
    for start, batch in batches_of(file, groups, names, threads=parallel):
        count = batch.num_rows
        rows = [
            _default(told, field.type, count)
            if found is None
            else typed(batch.column(found.name), field.type, coded=coded)
            for told, field, found in zip(columns.fields, columns.arrow, wanted, strict=True)
        ]
        if lineage is not None:
            stored = {id: batch.column(lineage[id].name) for id in (ROW_ID.id, LAST_UPDATED.id) if id in lineage}
            rows += _lineage(task, start, count, stored)
        places = np.arange(count) if live is None else np.flatnonzero(live[start : start + count])
        if len(places) < count:
            # Not `filter`, which takes several times as long.
            indices = pa.array(places.astype(np.int32))
            rows = [column.take(indices) for column in rows]
        if source is not None:
            numbers = np.arange(kept, kept + len(places)) if ordinals else places + start
            rows += [pa.repeat(pa.scalar(source, pa.int64()), len(places)), pa.array(numbers)]
        kept += len(places)
        if len(places):
            yield batch_of(rows, shape)


def row_group_starts(footer: pq.FileMetaData) -> NDArray[np.int64]:
    """The position of the first row of each row group, and behind them the number of the file's rows."""
    rows = [footer.row_group(index).num_rows for index in range(footer.num_row_groups)]
    return np.cumsum([0, *rows], dtype=np.int64)


def groups_in(footer: pq.FileMetaData, span: range, size: int) -> Sequence[int]:
    """The row groups with rows that begin in these bytes of a file of `size` bytes, so that each is in one of the spans
    that make up the file. Raises ArrowInvalid for a footer whose row groups do not follow each other in the file."""
    groups = [index for index in range(footer.num_row_groups) if footer.row_group(index).num_rows]
    starts = [_start(footer.row_group(index)) for index in groups]
    if any(one >= next for one, next in pairwise([-1, *starts, size])):
        raise pa.ArrowInvalid("its row groups do not follow each other")
    return groups[bisect_left(starts, span.start) : bisect_left(starts, span.stop)]


def _start(group: pq.RowGroupMetaData) -> int:
    column = group.column(0)
    places = (column.dictionary_page_offset, column.data_page_offset)
    first: int = min(place for place in places if place)
    return first


def parquet_file(stored: Any, *, coded: bool, **options: Any) -> pq.ParquetFile:
    """The file, of which a row group is read at once. With `coded` columns of texts of few distinct values come as
    codes of a dictionary, as they are stored."""
    footer = pq.read_metadata(stored)
    names = _coded(footer) if coded else []
    return pq.ParquetFile(stored, metadata=footer, pre_buffer=True, read_dictionary=names, **options)


def stored_columns(file: pq.ParquetFile) -> pa.Schema:
    """The columns of a file, with the types of the values where these come as codes."""
    return pa.schema(
        [
            field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
            for field in file.schema_arrow
        ]
    )


def _coded(footer: pq.FileMetaData) -> Sequence[str]:
    """The columns of texts whose values have a dictionary, and take few bytes with it, in each row group."""
    texts = {
        field.name
        for field in footer.schema.to_arrow_schema()
        if pa.types.is_string(field.type) and "." not in field.name
    }
    groups = [footer.row_group(index) for index in range(footer.num_row_groups)]
    columns = [index for index in range(footer.num_columns) if footer.schema.column(index).path in texts]
    return [
        footer.schema.column(index).path
        for index in columns
        if groups and all(_has_small_codes(group.column(index)) for group in groups)
    ]


def _has_small_codes(chunk: pq.ColumnChunkMetaData) -> bool:
    small: bool = chunk.total_uncompressed_size <= _CODE_BYTES * max(chunk.num_values, 1)
    return small and chunk.has_dictionary_page


def batch_of(columns: Sequence[pa.Array], shape: pa.Schema) -> pa.RecordBatch:
    """A batch with the names of `shape`, and its types but for codes of dictionaries."""
    fields = [field.with_type(column.type) for field, column in zip(shape, columns, strict=True)]
    return pa.RecordBatch.from_arrays(list(columns), schema=pa.schema(fields))


def batches_of(
    file: pq.ParquetFile, groups: Sequence[int], columns: Sequence[str], *, threads: bool
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of row groups, in order, with the position of each batch's first row. A file with `pre_buffer` reads a
    large group, or some small ones, at once: from an object store in a few requests, where each column chunk would be
    one."""
    rows, starts = _batch_rows(file.metadata), row_group_starts(file.metadata).tolist()
    for together in _runs(file.metadata, groups):
        start = starts[together[0]]
        for batch in file.iter_batches(rows, row_groups=together, columns=columns, use_threads=threads):
            yield start, batch
            start += batch.num_rows


def _runs(footer: pq.FileMetaData, groups: Sequence[int]) -> Iterator[Sequence[int]]:
    """The row groups in runs of neighbours, each of one group or of some with few bytes."""
    run: list[int] = []
    size = 0
    for group in groups:
        own = footer.row_group(group).total_byte_size
        if run and (group != run[-1] + 1 or size + own > _BATCH_BYTES):
            yield run
            run, size = [], 0
        run.append(group)
        size += own
    if run:
        yield run


def opened(io: FileIO, file: ContentFile) -> Any:
    """The file's bytes; a small file is read at once."""
    if file.file_size_in_bytes > _WHOLE_BYTES:
        return io.open_input(file.file_path)
    return pa.BufferReader(io.read(file.file_path))


def _batch_rows(footer: pq.FileMetaData) -> int:
    """The rows of a batch of at most about `_BATCH_BYTES`, by the size of the file's rows."""
    size = sum(footer.row_group(index).total_byte_size for index in range(footer.num_row_groups))
    fitting: int = _BATCH_BYTES * footer.num_rows // max(size, 1)
    return max(_LEAST_ROWS, min(_MOST_ROWS, fitting))


def is_taken(column: pa.Field, stored: pa.Field | None) -> bool:
    """Whether a column of the file, None if missing, can be cast to the table's type without loss."""
    if stored is None or _is_same(stored.type, column.type):
        return True
    if pa.types.is_decimal128(column.type) and pa.types.is_decimal(stored.type):
        fits: bool = stored.type.precision <= column.type.precision
        return fits and stored.type.scale == column.type.scale
    return stored.type in _ALIKE.get(column.type, ())


def _is_same(stored: pa.DataType, own: pa.DataType) -> bool:
    """Whether two types are equal, with names and field ids of nested fields, of which a file may have one without
    nulls that the table does not require; but for the name of a map's entries: readers give it that of the column."""
    if pa.types.is_map(stored) and pa.types.is_map(own):
        pairs = [(stored.key_field, own.key_field), (stored.item_field, own.item_field)]
    elif pa.types.is_struct(stored) and pa.types.is_struct(own) and stored.num_fields == own.num_fields:
        pairs = [(stored.field(at), own.field(at)) for at in range(own.num_fields)]
    elif pa.types.is_list(stored) and pa.types.is_list(own):
        pairs = [(stored.value_field, own.value_field)]
    else:
        same: bool = stored.equals(own, check_metadata=True)
        return same
    return all(
        (one.name, one.metadata) == (other.name, other.metadata)
        and one.nullable <= other.nullable
        and _is_same(one.type, other.type)
        for one, other in pairs
    )


def typed(column: pa.Array, type: pa.DataType, *, coded: bool) -> pa.Array:
    """The column as `type`; with `coded` texts that were read as codes of a dictionary stay so."""
    if pa.types.is_dictionary(column.type):
        if coded and type == pa.string() and column.type == _CODES:
            return column
        # A file may say that values were codes before they were stored: of any width, perhaps with an order.
        column = column.dictionary_decode()
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    return column if column.type == type else column.cast(type)


def _default(field: NestedField, type: pa.DataType, count: int) -> pa.Array:
    """The initial default of a column that the file lacks, `count` times."""
    value = field.initial_default
    return pa.repeat(pa.scalar(value.bytes if isinstance(value, UUID) else value, type), count)


def _lineage(task: FileScanTask, start: int, count: int, stored: Mapping[int, pa.Array]) -> list[pa.Array]:
    """Row ids and last updated sequence numbers of `count` rows from position `start`, stored or inherited; null if the
    file has no first row id."""
    first = task.file.first_row_id
    if first is None:
        return [pa.nulls(count, pa.int64())] * 2
    inherited = {
        ROW_ID.id: pa.array(np.arange(first + start, first + start + count)),
        LAST_UPDATED.id: pa.repeat(pa.scalar(task.sequence_number, pa.int64()), count),
    }
    return [pc.coalesce(stored[id], own) if id in stored else own for id, own in inherited.items()]


def _live(deleted: BitMap64, count: int) -> NDArray[np.bool_]:
    live = np.ones(count, np.bool_)
    positions = position_array(deleted)
    live[positions[positions < count]] = False
    return live
