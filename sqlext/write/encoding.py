"""The Parquet encoding of each column of a new file, chosen by a sample of its first rows.

A dictionary is used if it is much smaller than the values and fits its page, deltas if neighbouring whole numbers are
close and no dictionary is used or its entries alone take many bits, else plain, which zstd compresses better than a
dictionary that is given up half way. BYTE_STREAM_SPLIT and DELTA_BYTE_ARRAY are not used, as not all vectorised readers
of Spark and Iceberg read them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sqlext.spec.types import (
    BooleanType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    Type,
)
from sqlext.write.coded_texts import decoded
from sqlext.write.column_chunk import FileChunks
from sqlext.write.parquet_column import ParquetColumn

_SAMPLE_ROWS = 8_192
_DICTIONARY_SHARE = 0.25
_DELTA_BLOCK = 128
_DELTA_BLOCKS = 32
_DELTA_SHARE = 0.7
# Deltas of fewer bits than this share of a dictionary's are taken in its place, if its entries take so many of them.
# Runs of few values, which take hardly a bit either way, are decoded faster with a dictionary.
_DELTA_INSTEAD = 0.75
_MANY_ENTRY_BITS = 4
_WHOLE_NUMBERS = (
    IntegerType,
    LongType,
    DateType,
    TimeType,
    TimestampType,
    TimestamptzType,
    TimestampNanoType,
    TimestamptzNanoType,
)


@dataclass(frozen=True, slots=True)
class Encodings:
    """Paths of the columns with a dictionary, and of those written as deltas."""

    dictionary: tuple[str, ...]
    delta: tuple[str, ...]


def choose_encodings(
    columns: Sequence[ParquetColumn], batches: Sequence[pa.RecordBatch], chunks: FileChunks
) -> Encodings:
    """The encodings for row groups like these batches. Nested columns get dictionaries, and so do those, and none other
    of their columns, for which the properties say so.

    A column `a.b` and the field `b` of a struct `a` get neither, since they share their dotted path: pyarrow's settings
    go by it, and Parquet's Java reader would filter the one by the dictionary of the other.
    """
    shared = {path for path, times in Counter(column.path for column in columns).items() if times > 1}
    rows = sum(batch.num_rows for batch in batches)
    sample, most = _spread_sample(batches, rows), chunks.sizes.dictionary_bytes
    dictionary, delta = [], []
    for column in (one for one in columns if one.path not in shared):
        said = chunks.dictionaries.get(column.path, True if len(column.indices) > 1 else None)
        if said or len(column.indices) > 1:
            dictionary += [column.path] if said else []
            continue
        index = column.indices[0]
        by_code = None if said is False else _dictionary_bits(column.type, sample.column(index), rows, most)
        by_step = math.inf
        if _is_whole_number(column.type) and (by_code is None or by_code.entry >= _MANY_ENTRY_BITS):
            by_step = _delta_bits(index, batches)
        if by_code is not None and by_step >= _DELTA_INSTEAD * (by_code.entry + by_code.code):
            dictionary.append(column.path)
        elif by_step < math.inf:
            delta.append(column.path)
    return Encodings(tuple(dictionary), tuple(delta))


def _spread_sample(batches: Sequence[pa.RecordBatch], rows: int) -> pa.RecordBatch:
    """Rows at even distances, so that a run of equal values does not look like few distinct ones."""
    stride = max(1, rows // _SAMPLE_ROWS)
    if stride == 1:
        return pa.concat_batches(map(decoded, batches))
    some = (batch.take(pa.array(np.arange(0, batch.num_rows, stride))) for batch in batches)
    return pa.concat_batches(map(decoded, some))


class _DictionaryBits(NamedTuple):
    """The bits that a value takes: its share of the dictionary's entries, and its code."""

    entry: float
    code: float


def _dictionary_bits(type: Type, values: pa.Array, rows: int, most_bytes: int) -> _DictionaryBits | None:
    """None if no dictionary pays."""
    present = len(values) - values.null_count
    if isinstance(type, BooleanType) or present == 0:
        return None
    distinct = _estimated_distinct(pc.count_distinct(values).as_py(), present)
    width = values.nbytes / len(values)
    if isinstance(type, DecimalType):
        width = 4 if type.precision <= 9 else 8 if type.precision <= 18 else 16
    stored = rows * present / len(values)
    if distinct > _DICTIONARY_SHARE * stored or distinct * width > most_bytes:
        return None
    return _DictionaryBits(8 * width * distinct / stored, math.log2(max(distinct, 1)))


def _estimated_distinct(seen: int, drawn: int) -> float:
    """The estimated number of equally likely values of which a sample of `drawn` has `seen` distinct ones."""
    if seen >= 0.98 * drawn:
        return math.inf
    estimate = float(seen)
    for _ in range(50):
        estimate = seen / -math.expm1(-drawn / estimate)
    return estimate


def _is_whole_number(type: Type) -> bool:
    """Whether the values are stored as whole numbers of 32 or 64 bits."""
    return isinstance(type, _WHOLE_NUMBERS) or (isinstance(type, DecimalType) and type.precision <= 18)


def _delta_bits(index: int, batches: Sequence[pa.RecordBatch]) -> float:
    """The bits a value takes as the difference to its neighbour, by the median of the encoding's blocks; infinitely
    many if differences do not pay."""
    column = max((batch.column(index) for batch in batches), key=len).slice(0, _DELTA_BLOCK * _DELTA_BLOCKS + 1)
    bits, values = _whole_numbers(column.drop_null())
    steps = np.diff(values.astype(np.float64))
    blocks = len(steps) // _DELTA_BLOCK
    if blocks == 0:
        return math.inf
    steps = steps[: blocks * _DELTA_BLOCK].reshape(blocks, _DELTA_BLOCK)
    spread = float(np.median(steps.max(axis=1) - steps.min(axis=1)))
    needed = math.log2(spread + 1)
    return needed if needed <= _DELTA_SHARE * bits else math.inf


def _whole_numbers(column: pa.Array) -> tuple[int, NDArray[Any]]:
    """The values as they are stored, and the bits that each takes without an encoding; decimals unscaled."""
    if pa.types.is_decimal(column.type):
        bits = 32 if column.type.precision <= 9 else 64
        # Little-endian 128 bits, of which the lower half holds up to 18 digits.
        halves = np.frombuffer(column.buffers()[1], np.int64, 2 * len(column), 16 * column.offset)
        return bits, halves[::2]
    bits = column.type.bit_width
    return bits, column.view(pa.int32() if bits == 32 else pa.int64()).to_numpy()
