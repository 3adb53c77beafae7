"""Texts as codes of a dictionary, as a Parquet file had them, on their way to another file: they are neither decoded
nor looked up in a dictionary again, which is a sixth of the CPU of a rewrite."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_OFFSET_BYTES = 4


def in_parts(batch: pa.RecordBatch, most_bytes: int) -> Iterator[pa.RecordBatch]:
    """The batch, halved until a part has one row, or at most so many bytes once it has values in place of codes: an
    array of Arrow's holds 2 GB of texts, and codes of long ones take far fewer bytes."""
    if batch.num_rows > 1 and _decoded_bytes(batch) > most_bytes:
        middle = batch.num_rows // 2
        yield from in_parts(batch.slice(0, middle), most_bytes)
        yield from in_parts(batch.slice(middle), most_bytes)
    else:
        yield batch


def _decoded_bytes(batch: pa.RecordBatch) -> int:
    return sum(
        int(pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0) + _OFFSET_BYTES * len(column)
        if pa.types.is_dictionary(column.type)
        else column.nbytes
        for column in batch.columns
    )


def decoded(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with values in place of codes."""
    for number, column in enumerate(batch.columns):
        if pa.types.is_dictionary(column.type):
            name, values = batch.schema.field(number), column.dictionary_decode()
            batch = batch.set_column(number, name.with_type(values.type), values)
    return batch


def coded_columns(batches: Sequence[pa.RecordBatch]) -> frozenset[str]:
    """The columns that all batches have as codes."""
    coded = [{field.name for field in batch.schema if pa.types.is_dictionary(field.type)} for batch in batches]
    return frozenset(set.intersection(*coded)) if coded else frozenset()


def coded_schema(schema: pa.Schema, coded: Collection[str]) -> pa.Schema:
    """The schema with codes for the values of columns."""
    return pa.schema(
        [field.with_type(pa.dictionary(pa.int32(), field.type)) if field.name in coded else field for field in schema]
    )


def coded_table(batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """The batches as a table of a `coded_schema`. Each column of codes has one dictionary, of the values that it
    has."""
    columns = [_united([batch.column(number) for batch in batches], field.type) for number, field in enumerate(schema)]
    return pa.Table.from_arrays(columns, schema=schema)


def _united(columns: Sequence[pa.Array], type: pa.DataType) -> pa.ChunkedArray:
    if not pa.types.is_dictionary(type):
        values = [one.dictionary_decode() if pa.types.is_dictionary(one.type) else one for one in columns]
        return pa.chunked_array(values, type)
    codes = [one if pa.types.is_dictionary(one.type) else one.dictionary_encode() for one in columns]
    united = pa.chunked_array(codes).unify_dictionaries()
    return _without_unused(united)


def _without_unused(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column with those values in its dictionary that it has: readers pass over a row group whose dictionary lacks
    the value that they look for."""
    if not column.num_chunks:
        return column
    dictionary = column.chunk(0).dictionary
    used = np.zeros(len(dictionary), np.bool_)
    codes = [chunk.indices for chunk in column.chunks]
    for one in codes:
        used[one.drop_null().to_numpy()] = True
    if used.all():
        return column
    numbers = pa.array(np.cumsum(used, dtype=np.int32) - 1)
    kept = dictionary.take(pa.array(np.flatnonzero(used)))
    chunks = [pa.DictionaryArray.from_arrays(numbers.take(one), kept) for one in codes]
    return pa.chunked_array(chunks, column.type)
