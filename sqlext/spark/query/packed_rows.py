"""Rows of a query on their way to write tasks: some thousands are one value, which the shim's `PackedRows` makes.

A value has the number of its rows, the number and the sizes of its buffers, and the buffers, each from a multiple of
eight bytes on; all numbers are int64. The buffers are those of the columns, in Arrow's order. Decimals of up to 18
digits are int64, unscaled.

A value may have, in place of rows, a piece of a file whose rows the task reads itself: -1, and what
`packed_piece` takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import DecimalType, StructType

from sqlext.errors import OnlyByQuery
from sqlext.scan.file_piece import FilePiece
from sqlext.spark.catalog.arrow_types import to_arrow_schema
from sqlext.spark.scan.described_piece import packed_piece
from sqlext.spark.shim.java_objects import java_rows, shim_object
from sqlext.storage.checksummed_io import ChecksummedIO
from sqlext.storage.file_io import FileIO
from sqlext.storage.location import is_object

_MAX_LONG_DIGITS = 18
_NUMBER_BYTES = 8
_PIECE = -1
# The JVM leaves out the offsets of no lists.
_NO_VALUES = pa.py_buffer(bytes(_NUMBER_BYTES))


@dataclass(frozen=True, slots=True)
class PackedColumns:
    """The columns of packed values: as `buffers` they come from the JVM, and as `types` they are in files. `stores` are
    those of the tables that the query reads, by their handles."""

    buffers: pa.Schema
    types: pa.Schema
    stores: Mapping[str, FileIO]

    @classmethod
    def of(cls, columns: StructType, stores: Mapping[str, FileIO]) -> PackedColumns:
        """The columns of a query."""
        types = to_arrow_schema(columns)
        buffers = types
        for number, column in enumerate(columns.fields):
            if isinstance(column.dataType, DecimalType) and column.dataType.precision <= _MAX_LONG_DIGITS:
                buffers = buffers.set(number, buffers.field(number).with_type(pa.int64()))
        return cls(buffers, types, stores)

    def unpacked(self, values: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Batches of the values' rows, which keep the memory of a value that has rows. Raises OnlyByQuery for a file
        that is not read without Spark."""
        for batch in values:
            for value in batch.column(0):
                buffer = value.as_buffer()
                if np.frombuffer(buffer, np.int64, 1)[0] == _PIECE:
                    yield from self._read(packed_piece(buffer[_NUMBER_BYTES:].to_pybytes()))
                else:
                    yield _batch(buffer, self.buffers)

    def _read(self, piece: FilePiece) -> Iterator[pa.RecordBatch]:
        return piece.rows(piece_io(piece, self.stores), self.types)


def piece_io(piece: FilePiece, stores: Mapping[str, FileIO]) -> FileIO:
    """What reads a piece as Spark does; `stores` are those of tables by their handles. Raises OnlyByQuery for another
    table."""
    if piece.table is None or not is_object(piece.path):
        return ChecksummedIO()
    if piece.table not in stores:
        raise OnlyByQuery(piece.path)
    return stores[piece.table]


def packed(rows: DataFrame, *, by_task: bool = False) -> DataFrame:
    """The rows as values of one binary column; with `by_task` as pieces of files, where the query gives their columns,
    of all rows or by a condition that tasks evaluate."""
    return DataFrame(shim_object(rows.sparkSession, "PackedRows").of(java_rows(rows), by_task), rows.sparkSession)


def read_tables(rows: DataFrame) -> Sequence[str]:
    """The handles of the tables that a query reads."""
    return list(shim_object(rows.sparkSession, "FilesByTask").tables(java_rows(rows)))


def why_by_query(rows: DataFrame) -> str | None:
    """Why a query's rows cannot come as pieces of files, in words. For this it is planned, and its first file
    opened."""
    why: str | None = shim_object(rows.sparkSession, "FilesByTask").whyNot(java_rows(rows))
    return why


def _batch(value: pa.Buffer, schema: pa.Schema) -> pa.RecordBatch:
    rows, count = np.frombuffer(value, np.int64, 2).tolist()
    start = 2 * _NUMBER_BYTES
    sizes = np.frombuffer(value, np.int64, count, start).tolist()
    start += count * _NUMBER_BYTES
    buffers: list[pa.Buffer | None] = []
    for size in sizes:
        buffers.append(value.slice(start, size) if size else None)
        start += -(-size // _NUMBER_BYTES) * _NUMBER_BYTES
    take = iter(buffers).__next__
    columns = [_array(field.type, rows, take) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _array(type: pa.DataType, length: int, take: Callable[[], pa.Buffer | None]) -> pa.Array:
    if pa.types.is_null(type):
        return pa.nulls(length)
    validity, *values = [take() for _ in range(type.num_buffers)]
    own = [validity, *(_NO_VALUES if one is None else one for one in values)]
    if pa.types.is_struct(type):
        children = [_array(field.type, length, take) for field in type]
    elif pa.types.is_map(type):
        children = [_array(pa.struct([type.key_field, type.item_field]), _end(own[1], length), take)]
    elif pa.types.is_list(type):
        children = [_array(type.value_type, _end(own[1], length), take)]
    else:
        children = []
    return pa.Array.from_buffers(type, length, own, children=children or None)


def _end(offsets: pa.Buffer, length: int) -> int:
    """The number of elements of so many lists."""
    return int(np.frombuffer(offsets, np.int32, length + 1)[length])
