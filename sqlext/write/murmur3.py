"""The 32-bit Murmur3 hash of many values at once (spec: Appendix B, 32-bit Hash Requirements)."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Bytes: TypeAlias = NDArray[np.uint8]
Hashes: TypeAlias = NDArray[np.uint32]

_C1 = np.uint32(0xCC9E2D51)
_C2 = np.uint32(0x1B873593)


def hash_longs(values: NDArray[np.int64]) -> Hashes:
    """Hashes of the 8 little-endian bytes of each value."""
    rows = np.ascontiguousarray(values, dtype="<i8").view(np.uint8).reshape(-1, 8)
    return hash_rows(rows)


def hash_rows(rows: Bytes) -> Hashes:
    """Hashes of the rows of a matrix: byte strings of one length."""
    count, length = rows.shape
    state = np.zeros(count, np.uint32)
    whole = length // 4 * 4
    blocks = np.ascontiguousarray(rows[:, :whole]).view("<u4") if whole else np.empty((count, 0), np.uint32)
    for column in range(blocks.shape[1]):
        state ^= _mixed(blocks[:, column])
        state = _rotated(state, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    if whole < length:
        tail = np.zeros(count, np.uint32)
        for offset in range(length - whole):
            tail |= rows[:, whole + offset].astype(np.uint32) << np.uint32(8 * offset)
        state ^= _mixed(tail)
    return _finished(state ^ np.uint32(length))


def hash_minimal_integers(big_endian: Bytes) -> Hashes:
    """Hashes of the shortest two's complement of each row, a signed big-endian integer."""
    width = big_endian.shape[1]
    sign = (big_endian[:, :1] & 0x80) != 0
    filler = np.where(sign, 0xFF, 0x00).astype(np.uint8)
    # A leading byte can go when it only repeats the sign and the byte after it still shows the sign.
    removable = (big_endian[:, :-1] == filler) & (((big_endian[:, 1:] & 0x80) != 0) == sign)
    lengths = width - np.logical_and.accumulate(removable, axis=1).sum(axis=1)
    hashes = np.empty(len(big_endian), np.uint32)
    for length in np.unique(lengths):
        chosen = lengths == length
        hashes[chosen] = hash_rows(big_endian[chosen, width - length :])
    return hashes


def _mixed(block: Hashes) -> Hashes:
    mixed: Hashes = _rotated(block * _C1, 15) * _C2
    return mixed


def _rotated(values: Hashes, bits: int) -> Hashes:
    rotated: Hashes = (values << np.uint32(bits)) | (values >> np.uint32(32 - bits))
    return rotated


def _finished(state: Hashes) -> Hashes:
    state ^= state >> np.uint32(16)
    state = state * np.uint32(0x85EBCA6B)
    state ^= state >> np.uint32(13)
    state = state * np.uint32(0xC2B2AE35)
    state ^= state >> np.uint32(16)
    return state
