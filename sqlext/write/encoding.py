"""Which Parquet encoding each column of a new file gets, judged by a sample of its first rows.

A dictionary is written where it is much smaller than the values and fits its page; deltas where whole numbers lie near
each other; all else plain, which zstd packs better than a dictionary that is given up half way. Encodings that
vectorised readers of Spark and Iceberg do not all know (BYTE_STREAM_SPLIT, DELTA_BYTE_ARRAY) are left alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
from sqlext.write.parquet_column import ParquetColumn

_SAMPLE_ROWS = 8_192
# Parquet gives a dictionary up when its page grows past this.
_DICTIONARY_BYTES = 1024 * 1024
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
    """Paths of the columns that get a dictionary, and of those whose numbers are written as deltas."""

    dictionary: tuple[str, ...]
    delta: tuple[str, ...]


def choose_encodings(columns: Sequence[ParquetColumn], batches: Sequence[pa.RecordBatch]) -> Encodings:
    """The encodings for a row group of these batches and those like it. Nested columns get dictionaries.

    A column `a.b` and the field `b` of a struct `a` get neither: settings go by the dotted path that they share, and so
    do the dictionaries of Parquet's Java reader, which would filter the one by the other's.
    """
    shared = {path for path, times in Counter(column.path for column in columns).items() if times > 1}
    rows = sum(batch.num_rows for batch in batches)
    sample = _spread_sample(batches, rows)
    dictionary, delta = [], []
    for column in (one for one in columns if one.path not in shared):
        if len(column.indices) > 1:
            dictionary.append(column.path)
            continue
        values = sample.column(column.indices[0])
        if _dictionary_pays(column.type, values, rows):
            dictionary.append(column.path)
        elif isinstance(column.type, _WHOLE_NUMBERS) and _deltas_pay(column.indices[0], batches):
            delta.append(column.path)
    return Encodings(tuple(dictionary), tuple(delta))


def _spread_sample(batches: Sequence[pa.RecordBatch], rows: int) -> pa.RecordBatch:
    """Rows at even distances, so that runs of equal values do not look like few distinct ones."""
    stride = max(1, rows // _SAMPLE_ROWS)
    if stride == 1:
        return pa.concat_batches(batches)
    return pa.concat_batches([batch.take(pa.array(np.arange(0, batch.num_rows, stride))) for batch in batches])


def _dictionary_pays(type: Type, values: pa.Array, rows: int) -> bool:
    present = len(values) - values.null_count
    if isinstance(type, BooleanType) or present == 0:
        return False
    distinct = _estimated_distinct(pc.count_distinct(values).as_py(), present)
    width = values.nbytes / len(values)
    if isinstance(type, DecimalType):
        width = 4 if type.precision <= 9 else 8 if type.precision <= 18 else 16
    few = distinct <= _DICTIONARY_SHARE * rows * present / len(values)
    return bool(few and distinct * width <= _DICTIONARY_BYTES)


def _estimated_distinct(seen: int, drawn: int) -> float:
    """How many equally likely values there are, if `drawn` of them showed `seen` different ones."""
    if seen >= 0.98 * drawn:
        return math.inf
    estimate = float(seen)
    for _ in range(50):
        estimate = seen / -math.expm1(-drawn / estimate)
    return estimate


def _deltas_pay(index: int, batches: Sequence[pa.RecordBatch]) -> bool:
    """Whether neighbours differ in few bits, by the median of the blocks that the encoding packs alike."""
    column = max((batch.column(index) for batch in batches), key=len).slice(0, _DELTA_BLOCK * _DELTA_BLOCKS + 1)
    bits = column.type.bit_width
    values = column.drop_null().view(pa.int32() if bits == 32 else pa.int64()).to_numpy().astype(np.float64)
    steps = np.diff(values)
    blocks = len(steps) // _DELTA_BLOCK
    if blocks == 0:
        return False
    steps = steps[: blocks * _DELTA_BLOCK].reshape(blocks, _DELTA_BLOCK)
    spread = float(np.median(steps.max(axis=1) - steps.min(axis=1)))
    return bool(math.log2(spread + 1) <= _DELTA_SHARE * bits)
