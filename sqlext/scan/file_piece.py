"""Pieces of Parquet files that Spark has planned for a task of a query, read by the task's Python in Spark's place.

Columns are found as Spark finds them: by field id in files of a table, in others by name. What Arrow would read in
another way than Spark is not read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sqlext.errors import CorruptionError, NotFoundError, OnlyByQuery, StorageError, UnsupportedError
from sqlext.scan.files.file_columns import PARQUET
from sqlext.scan.filter.row_estimate import expected_rows
from sqlext.scan.filter.row_group_metrics import matching_row_groups, predicate_metrics
from sqlext.scan.filter.row_selection import selection_mask
from sqlext.scan.live_rows import (
    RowColumns,
    batch_of,
    batches_of,
    groups_in,
    is_taken,
    live_rows,
    opened,
    parquet_file,
    stored_columns,
    typed,
)
from sqlext.scan.scan_plan import FileScanTask
from sqlext.spec.arrow_field_id import fields_by_id
from sqlext.spec.expression import Predicate
from sqlext.spec.manifests.content_file import Content, ContentFile
from sqlext.spec.schema import Schema
from sqlext.spec.types import NestedField, UnknownType
from sqlext.storage.file_io import FileIO

# A file of Spark's with days or instants may have them in the Julian calendar, which Spark converts.
_CALENDAR_KEYS = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_OLD_SPARKS = (b"1.", b"2.", b"3.0.")
_INT96 = "INT96"
_UNREAD = (NotFoundError, CorruptionError, StorageError, UnsupportedError, pa.ArrowException, OSError, OverflowError)
_ALIKE = (pa.string(), pa.binary())
# Of fewer rows Spark may read some pages where `rows` reads row groups.
_LEAST_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class PieceFilter:
    """The condition on the rows of a piece, which `selection_mask` evaluates. `schema` has all columns that are read,
    and `types` has them as Arrow; their field ids are their places from 1 on."""

    predicate: Predicate
    schema: Schema
    types: pa.Schema

    def selected(self, rows: pa.RecordBatch, count: int) -> pa.RecordBatch:
        """The rows that the condition selects, in the first `count` columns."""
        columns = dict(enumerate(rows.columns, 1))
        places = np.flatnonzero(selection_mask(self.predicate, columns, rows.num_rows))
        kept = rows.select(range(count))
        # Not `filter`, which takes several times as long.
        return kept if len(places) == rows.num_rows else kept.take(pa.array(places.astype(np.int32)))

    def selects_few(self, footer: pq.FileMetaData, names: Mapping[int, str]) -> bool:
        """Whether few of the rows of a file are expected to be selected; `names` are as in `predicate_metrics`."""
        groups = predicate_metrics(footer, range(footer.num_row_groups), names, self.predicate, self.schema)
        expected = expected_rows(self.predicate, groups, self.schema)
        return expected is not None and expected < _LEAST_SHARE * footer.num_rows


@dataclass(frozen=True, slots=True)
class FilePiece:
    """The row groups of a file that begin in `length` bytes from `start` on, without the rows at `deletes`, a portable
    64-bit roaring bitmap of positions, and without those that `filter` does not select.

    `columns` are the field ids of a table, whose handle is `table`; in a file of no table they are names. Those that
    only the filter needs are last.
    """

    path: str
    size: int
    start: int
    length: int
    columns: tuple[int | str, ...]
    table: str | None = None
    deletes: bytes | None = None
    filter: PieceFilter | None = None

    def rows(self, io: FileIO, types: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The rows in batches of the first columns, which have these types. Raises OnlyByQuery, also after it has given
        rows."""
        read = self._read_types(types)
        try:
            for batch in self._by_name(io, read) if self.table is None else self._by_id(io, read):
                chosen = batch if self.filter is None else self.filter.selected(batch, len(types))
                if chosen.num_rows:
                    yield chosen
        except _UNREAD as error:
            # Spark reads what Arrow does not, passes over what it may pass over, or tells what is wrong.
            raise OnlyByQuery(self.path) from error

    def why_by_query(self, io: FileIO, types: pa.Schema) -> str | None:
        """Why Spark has to read the file, or does so with less work, in words; None if nothing in its footer is against
        `rows`."""
        read = self._read_types(types)
        try:
            with self._parquet(io) as file:
                stored = self._stored(file, read)
                if self.filter is not None and self.filter.selects_few(file.metadata, _names(stored)):
                    return f"of {self.path} few rows are expected, whose pages Spark finds"
        except OnlyByQuery as error:
            return f"{self.path} has {error}"
        except _UNREAD:
            return f"{self.path} cannot be read by pyarrow"
        return None

    def _read_types(self, types: pa.Schema) -> pa.Schema:
        return types if self.filter is None else self.filter.types

    def _by_id(self, io: FileIO, types: pa.Schema) -> Iterator[pa.RecordBatch]:
        # A column that the file lacks is null: the shim leaves those with an initial default to Spark.
        columns = RowColumns([NestedField(int(id), "", UnknownType()) for id in self.columns], types)
        task = FileScanTask(self._content, 0, 0, self.deletes)

        def groups(footer: pq.FileMetaData, names: Mapping[int, str]) -> Sequence[int]:
            return self._groups(footer, {at: names[int(id)] for at, id in enumerate(self.columns, 1) if id in names})

        return live_rows(io, task, columns, lineage=False, threads=False, groups=groups, coded=True)

    def _by_name(self, io: FileIO, types: pa.Schema) -> Iterator[pa.RecordBatch]:
        with self._parquet(io) as file:
            stored = self._stored(file, types)
            names = [field.name for field in stored if field is not None]
            for _, batch in batches_of(file, self._groups(file.metadata, _names(stored)), names, threads=False):
                columns = [
                    typed(batch.column(name), type, coded=True) for name, type in zip(names, types.types, strict=True)
                ]
                yield batch_of(columns, types)

    def _groups(self, footer: pq.FileMetaData, names: Mapping[int, str]) -> Sequence[int]:
        """The row groups of the piece that may have a row of it; `names` are those of columns by their places from 1
        on."""
        groups = groups_in(footer, self._span, self.size)
        if self.filter is None:
            return groups
        return matching_row_groups(footer, groups, names, self.filter.predicate, self.filter.schema)

    @property
    def _span(self) -> range:
        return range(self.start, self.start + self.length)

    @property
    def _content(self) -> ContentFile:
        return ContentFile(Content.DATA, self.path, PARQUET, 0, (), 0, self.size)

    @contextmanager
    def _parquet(self, io: FileIO) -> Iterator[pq.ParquetFile]:
        with (
            opened(io, self._content) as stored,
            parquet_file(stored, coded=True, coerce_int96_timestamp_unit="us") as file,
        ):
            yield file

    def _stored(self, file: pq.ParquetFile, types: pa.Schema) -> Sequence[pa.Field | None]:
        """The columns in the file, None for one that a table's file lacks. Raises OnlyByQuery with the reason."""
        if self.table is not None:
            there = fields_by_id(stored_columns(file))
            found = [there.get(int(id)) for id in self.columns]
            if not there or not all(map(is_taken, types, found)):
                raise OnlyByQuery("a column of another type than the table, or none with a field id")
            return found
        if any(pa.types.is_temporal(type) for type in types.types):
            _require_calendar(file.metadata.metadata or {})
        return [_named(file, str(name), type) for name, type in zip(self.columns, types.types, strict=True)]


def _names(stored: Sequence[pa.Field | None]) -> Mapping[int, str]:
    """The names of columns in a file by their places from 1 on."""
    return {place: field.name for place, field in enumerate(stored, 1) if field is not None}


def _require_calendar(metadata: Mapping[bytes, bytes]) -> None:
    by = metadata.get(b"org.apache.spark.version", b"")
    if by.startswith(_OLD_SPARKS) or any(key in metadata for key in _CALENDAR_KEYS):
        raise OnlyByQuery("times that may be in the Julian calendar")


def _named(file: pq.ParquetFile, name: str, type: pa.DataType) -> pa.Field:
    alike = [field for field in stored_columns(file) if field.name.lower() == name.lower()]
    if [field.name for field in alike] != [name]:
        raise OnlyByQuery(f"not exactly one column with the name {name}")
    stored = alike[0].type
    if pa.types.is_timestamp(type) and _is_int96(file, name):
        fits = type.tz is not None
    else:
        fits = stored == type or (type in _ALIKE and is_taken(pa.field(name, type), alike[0]))
    if not fits:
        raise OnlyByQuery(f"the column {name} as {stored}")
    return alike[0]


def _is_int96(file: pq.ParquetFile, name: str) -> bool:
    leaves = map(file.schema.column, range(len(file.schema)))
    return any(leaf.name == leaf.path == name and leaf.physical_type == _INT96 for leaf in leaves)
