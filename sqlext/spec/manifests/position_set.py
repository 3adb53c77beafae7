"""Positions of rows of one data file: as a 64-bit bitmap, the form of deletion vectors, and as an array."""

from __future__ import annotations

import struct
from array import array
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap, BitMap64

_NARROW_END = 1 << 32
# Of a serialised 64-bit bitmap with one 32-bit bitmap, that of the upper half 0 (Roaring format specification).
_ONE_BITMAP = struct.pack("<QI", 1, 0)

Positions: TypeAlias = NDArray[np.int64]


def position_set(positions: NDArray[Any]) -> BitMap64:
    """The set of whole numbers from 0 up, in any order, some perhaps repeated."""
    if len(positions) and int(positions.max()) < _NARROW_END:
        # pyroaring takes 32-bit numbers at a third of the time of 64-bit ones, and an `array` at a third of numpy's.
        narrow = BitMap(array("I", positions.astype(np.uint32).tobytes()))
        return BitMap64.deserialize(_ONE_BITMAP + narrow.serialize())
    return BitMap64(array("Q", positions.astype(np.uint64).tobytes()))


def position_array(positions: BitMap64) -> Positions:
    """The positions in ascending order."""
    return np.frombuffer(positions.to_array(), np.uint64).astype(np.int64)
