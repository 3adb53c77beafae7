"""The values that stored rows have in some columns, as those of one file are compared with those of another.

A column comes in one type whatever its file has, as columns are widened: integers in 64 bits, decimals with 38 digits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from sqlext.errors import CorruptionError, UnsupportedError
from sqlext.scan.files.file_columns import PARQUET
from sqlext.scan.key_lookup import columns_by_id
from sqlext.spec.manifests.content_file import ContentFile
from sqlext.storage.file_io import FileIO

POSITION = "position"
"""The name of a row's position, behind its values."""


def key_values(
    io: FileIO, file: ContentFile, field_ids: Sequence[int], positions: BitMap64 | None = None
) -> pa.Table | None:
    """The columns of a data or equality-delete file, named by their field ids, and `POSITION`; of all rows, or of those
    at `positions`.

    None where the file does not tell them: it is not Parquet, or lacks field ids or one of the columns. NotFoundError
    naming a file that is gone.
    """
    if file.file_format != PARQUET:
        return None
    try:
        columns = columns_by_id(io, file.file_path, field_ids)
    except (UnsupportedError, CorruptionError):
        return None
    if columns is None or any(pa.types.is_nested(column.type) for column in columns):
        return None
    places = pa.chunked_array([pa.array(numpy.arange(len(columns[0])))])
    names = [str(field_id) for field_id in field_ids]
    rows = pa.table([*(_widened(column) for column in columns), places], [*names, POSITION])
    if positions is None:
        return rows
    chosen = numpy.frombuffer(positions.to_array(), numpy.uint64).astype(numpy.int64)
    return rows.take(pa.array(chosen[chosen < rows.num_rows]))


def shared_keys(rows: pa.Table, others: pa.Table) -> pa.Table | None:
    """The rows whose values one of the others has; None where that cannot be told from the values: a null is among
    them, a float, or columns are of different types."""
    names = [name for name in rows.column_names if name != POSITION]
    left, right = rows.select(names), others.select(names)
    if left.schema.types != right.schema.types or any(pa.types.is_floating(type) for type in left.schema.types):
        return None
    if any(column.null_count for column in (*left.columns, *right.columns)):
        return None
    if len(names) == 1:
        return rows.filter(pc.is_in(left.column(0), value_set=right.column(0).combine_chunks()))
    numbered = left.append_column("row", pa.array(numpy.arange(left.num_rows)))
    found = numbered.join(right, names, join_type="left semi").column("row").to_numpy()
    return rows.take(pa.array(numpy.sort(found)))


def _widened(column: pa.ChunkedArray) -> pa.ChunkedArray:
    type = column.type
    if pa.types.is_dictionary(type):
        return _widened(column.cast(type.value_type))
    if pa.types.is_integer(type):
        return column.cast(pa.int64())
    if pa.types.is_decimal(type):
        return column.cast(pa.decimal128(38, type.scale))
    return column
