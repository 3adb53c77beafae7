"""Values of key columns in a form that is comparable between files written before and after a type promotion.

Integers have 64 bits, decimals 38 digits.
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
from sqlext.spec.manifests.position_set import position_array
from sqlext.storage.file_io import FileIO

POSITION = "position"
"""The name of the last column: the row's position."""


def key_values(
    io: FileIO, file: ContentFile, field_ids: Sequence[int], positions: BitMap64 | None = None
) -> pa.Table | None:
    """The columns of a data file or equality-delete file, named by field id, and `POSITION`, of all rows or of those at
    `positions`.

    None for a file that is not Parquet or is damaged, lacks field ids or a column, or has a nested one. Raises
    NotFoundError naming the file.
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
    chosen = position_array(positions)
    return rows.take(pa.array(chosen[chosen < rows.num_rows]))


def shared_keys(rows: pa.Table, others: pa.Table) -> pa.Table | None:
    """The rows whose values equal those of one of `others`; None if columns have nulls, floats or different types,
    which this comparison does not support."""
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
