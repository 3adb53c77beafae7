"""Z-values of rows: the bits of several columns interleaved, as Iceberg's `ZOrderByteUtils` does it.

Each column gives bytes whose unsigned order is that of its values: eight of a number, a fixed number of a text or
binary, which is cut or filled with zeros. Null is all zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sqlext.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    Type,
)

NUMBER_BYTES = 8
# Each bit takes a byte while bits are interleaved.
_ROWS = 65_536
_SIGN = np.uint64(1 << 63)
_TIMES = (TimestampType, TimestamptzType, TimestampNanoType, TimestamptzNanoType)
_TEXTS = (StringType, BinaryType, FixedType)
Bytes = NDArray[np.uint8]


def has_z_bytes(type: Type) -> bool:
    """Whether a column of the type can be part of a z-value; decimals, uuids and nested ones cannot, as in Iceberg."""
    return isinstance(type, (BooleanType, IntegerType, LongType, DateType, FloatType, DoubleType, *_TIMES, *_TEXTS))


def z_values(columns: Sequence[tuple[pa.Array, Type]], text_bytes: int, most_bytes: int) -> pa.Array:
    """A binary for each row, of at most `most_bytes`; texts and binaries take part with their first `text_bytes`."""
    sizes = [text_bytes if isinstance(type, _TEXTS) else NUMBER_BYTES for _, type in columns]
    size, rows = min(sum(sizes), most_bytes), len(columns[0][0])
    packed = np.zeros((rows, size), np.uint8)
    for start in range(0, rows, _ROWS):
        pieces = [_ordered_bytes(column.slice(start, _ROWS), type, text_bytes) for column, type in columns]
        packed[start : start + _ROWS] = np.packbits(_interleaved(pieces, size), axis=1)
    return pa.Array.from_buffers(pa.binary(size), rows, [None, pa.py_buffer(packed)])


def _interleaved(pieces: Sequence[Bytes], size: int) -> NDArray[np.uint8]:
    """The first bit of each column, then the second of each; a column without further bits is passed over."""
    unpacked = [np.unpackbits(piece, axis=1) for piece in pieces]
    longest = max(bits.shape[1] for bits in unpacked)
    order = [(bits, at) for at in range(longest) for bits in unpacked if at < bits.shape[1]][: 8 * size]
    return np.stack([bits[:, at] for bits, at in order], axis=1)


def _ordered_bytes(column: pa.Array, type: Type, text_bytes: int) -> Bytes:
    valid = np.asarray(column.is_valid().to_numpy(zero_copy_only=False))
    if isinstance(type, _TEXTS):
        return _text_bytes(column, text_bytes)
    if isinstance(type, BooleanType):
        truths = np.asarray(pc.fill_null(column, False).to_numpy(zero_copy_only=False))
        found = np.zeros((len(column), NUMBER_BYTES), np.uint8)
        # As in Iceberg: true is -127 in the first byte.
        found[truths, 0] = 0x81
        return found
    if isinstance(type, FloatType | DoubleType):
        numbers = np.asarray(pc.fill_null(column, 0.0).to_numpy(zero_copy_only=False)).astype(np.float64)
        numbers = np.where(np.isnan(numbers), np.nan, numbers)
        signed = np.ascontiguousarray(numbers).view(np.int64)
        ordered = signed.view(np.uint64) ^ ((signed >> 63).view(np.uint64) | _SIGN)
    else:
        ordered = _whole_numbers(column, type).view(np.uint64) ^ _SIGN
    ordered = np.where(valid, ordered, np.uint64(0))
    return np.frombuffer(ordered.astype(">u8").tobytes(), np.uint8).reshape(len(column), NUMBER_BYTES)


def _whole_numbers(column: pa.Array, type: Type) -> NDArray[np.int64]:
    if isinstance(type, DateType):
        column = column.view(pa.int32())
    elif isinstance(type, _TIMES):
        column = column.view(pa.int64())
    numbers = np.asarray(pc.fill_null(column, 0).to_numpy(zero_copy_only=False)).astype(np.int64)
    # Iceberg casts a timestamp with time zone to seconds.
    return numbers // 1_000_000 if isinstance(type, TimestamptzType) else numbers


def _text_bytes(column: pa.Array, size: int) -> Bytes:
    values = column.cast(pa.binary())
    cut = pc.binary_slice(pc.fill_null(values, b""), 0, size)
    lengths = np.asarray(pc.binary_length(cut).to_numpy(zero_copy_only=False)).astype(np.int64)
    found = np.zeros((len(column), size), np.uint8)
    inside: Any = np.arange(size)[None, :] < lengths[:, None]
    data = np.frombuffer(b"".join(cut.to_pylist()), np.uint8)
    found[inside] = data
    return found
