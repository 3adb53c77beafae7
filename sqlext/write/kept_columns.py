"""Columns that updated rows keep: the query leaves them out, and the write task reads them at the old positions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np
import pyarrow as pa

from sqlext.spec.schema import Schema
from sqlext.spec.types import NestedField
from sqlext.write.arrow_schema import schema_to_arrow
from sqlext.write.positioned_values import in_places, values_at
from sqlext.write.row_operation import OPERATION_COLUMNS, UPDATE

Batches = Iterator[pa.RecordBatch]

# Texts of so many rows fit an array with 32-bit offsets; those of all rows need 64 bits.
_BATCH_ROWS = 16_384
_LARGE = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}


def with_kept_columns(
    task: Callable[[Batches], Batches], schema: Schema, names: Collection[str]
) -> Callable[[Batches], Batches]:
    """The `task` of `write_changes` for rows without the columns `names` of the schema; no row may be an insert.

    An updated row gets the values that `values_at` finds at its position; each data file is read once. All rows are in
    memory at once.
    """
    kept = {number: field for number, field in enumerate(schema.fields) if field.name in names}

    def completed(batches: Batches) -> Batches:
        rows = list(batches)
        if rows:
            yield from _completed(pa.concat_batches(rows), kept)

    return lambda batches: task(completed(batches))


def _completed(rows: pa.RecordBatch, kept: dict[int, NestedField]) -> Batches:
    """The rows with the `kept` columns at their positions in the schema; null in rows that are not updated."""
    operations = rows.column(0).to_numpy(zero_copy_only=False)
    replaced = np.flatnonzero(operations == UPDATE)
    types = [field.type for field in schema_to_arrow(Schema(tuple(kept.values())))]
    stored = [_LARGE.get(type, type) for type in types]
    files, positions = in_places(rows.columns[1:OPERATION_COLUMNS], replaced)
    values = _values(files, positions, tuple(kept.values()), stored)
    if len(replaced) < rows.num_rows:
        places = np.full(rows.num_rows, -1)
        places[replaced] = np.arange(len(replaced))
        taken = pa.array(places, mask=places < 0)
        values = [column.take(taken) for column in values]
    for start in range(0, rows.num_rows, _BATCH_ROWS):
        part = rows.slice(start, _BATCH_ROWS)
        columns, names = list(part.columns), list(part.schema.names)
        for number, type, column in zip(sorted(kept), types, values, strict=True):
            columns.insert(OPERATION_COLUMNS + number, column.slice(start, _BATCH_ROWS).cast(type))
            names.insert(OPERATION_COLUMNS + number, kept[number].name)
        yield pa.RecordBatch.from_arrays(columns, names)


def _values(
    files: pa.StringArray, positions: pa.Int64Array, fields: Sequence[NestedField], types: Sequence[pa.DataType]
) -> list[pa.Array]:
    """The values of each field, cast to its type, at the positions of the files, which have one entry per row."""
    encoded = files.dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    numbers = positions.to_numpy(zero_copy_only=False)
    order = np.argsort(codes, kind="stable")
    of_files = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if len(order) else []
    parts: list[list[pa.Array]] = [[] for _ in fields]
    for at in of_files:
        location = encoded.dictionary[int(codes[at[0]])].as_py()
        for part, column, type in zip(parts, values_at(location, numbers[at], fields), types, strict=True):
            part.append(column.cast(type))
    columns = [pa.concat_arrays(part) if part else pa.nulls(0, type) for part, type in zip(parts, types, strict=True)]
    return in_places(columns, np.argsort(order))
