"""The Parquet encoding of each column of a new file, chosen by a sample of its first rows.

A dictionary is used if it is much smaller than the values and fits its page, deltas if neighbouring whole numbers are
close, else plain, which zstd compresses better than a dictionary that is given up half way. BYTE_STREAM_SPLIT and
DELTA_BYTE_ARRAY are not used, as not all vectorised readers of Spark and Iceberg read them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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
from sqlext.write.column_chunk import FileChunks
from sqlext.write.parquet_column import ParquetColumn

_SAMPLE_ROWS = 8_192
_DICTIONARY_SHARE = 0.25
_DELTA_BLOCK = 128
_DELTA_BLOCKS = 32
_DELTA_SHARE = 0.7
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
        if said or (said is None and _dictionary_pays(column.type, sample.column(column.indices[0]), rows, most)):
            dictionary.append(column.path)
        elif len(column.indices) > 1:
            continue
        elif _is_whole_number(column.type) and _deltas_pay(column.indices[0], batches):
            delta.append(column.path)
    return Encodings(tuple(dictionary), tuple(delta))


def _spread_sample(batches: Sequence[pa.RecordBatch], rows: int) -> pa.RecordBatch:
    """Rows at even distances, so that a run of equal values does not look like few distinct ones."""
    stride = max(1, rows // _SAMPLE_ROWS)
    if stride == 1:
        return pa.concat_batches(batches)
    return pa.concat_batches([batch.take(pa.array(np.arange(0, batch.num_rows, stride))) for batch in batches])


def _dictionary_pays(type: Type, values: pa.Array, rows: int, most_bytes: int) -> bool:
    present = len(values) - values.null_count
    if isinstance(type, BooleanType) or present == 0:
        return False
    distinct = _estimated_distinct(pc.count_distinct(values).as_py(), present)
    width = values.nbytes / len(values)
    if isinstance(type, DecimalType):
        width = 4 if type.precision <= 9 else 8 if type.precision <= 18 else 16
    few = distinct <= _DICTIONARY_SHARE * rows * present / len(values)
    return bool(few and distinct * width <= most_bytes)


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


def _deltas_pay(index: int, batches: Sequence[pa.RecordBatch]) -> bool:
    """Whether neighbours differ in few bits, by the median of the encoding's blocks."""
    column = max((batch.column(index) for batch in batches), key=len).slice(0, _DELTA_BLOCK * _DELTA_BLOCKS + 1)
    bits, values = _whole_numbers(column.drop_null())
    steps = np.diff(values.astype(np.float64))
    blocks = len(steps) // _DELTA_BLOCK
    if blocks == 0:
        return False
    steps = steps[: blocks * _DELTA_BLOCK].reshape(blocks, _DELTA_BLOCK)
    spread = float(np.median(steps.max(axis=1) - steps.min(axis=1)))
    return bool(math.log2(spread + 1) <= _DELTA_SHARE * bits)


def _whole_numbers(column: pa.Array) -> tuple[int, NDArray[Any]]:
    """The values as they are stored, and the bits that each takes without an encoding; decimals unscaled."""
    if pa.types.is_decimal(column.type):
        bits = 32 if column.type.precision <= 9 else 64
        # Little-endian 128 bits, of which the lower half holds up to 18 digits.
        halves = np.frombuffer(column.buffers()[1], np.int64, 2 * len(column), 16 * column.offset)
        return bits, halves[::2]
    bits = column.type.bit_width
    return bits, column.view(pa.int32() if bits == 32 else pa.int64()).to_numpy()
