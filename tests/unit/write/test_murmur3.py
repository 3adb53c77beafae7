from __future__ import annotations

import random

import mmh3
import numpy as np
import pytest

from sqlext.write.murmur3 import hash_longs, hash_minimal_integers, hash_rows

RANDOM = random.Random(5)


@pytest.mark.parametrize("length", [*range(18), 31])
def test_rows_hash_as_byte_strings(length: int) -> None:
    texts = [RANDOM.randbytes(length) for _ in range(50)]
    rows = np.frombuffer(b"".join(texts), np.uint8).reshape(50, length)
    assert hash_rows(rows).tolist() == [mmh3.hash(text, signed=False) for text in texts]


def test_the_specs_values() -> None:
    assert hash_longs(np.array([34, 17_486, 81_068_000_000])).astype(np.int32).tolist() == [
        2_017_239_379,
        -653_330_422,
        -662_762_989,
    ]
    unscaled = np.frombuffer((1420).to_bytes(16, "big", signed=True), np.uint8).reshape(1, 16)
    assert hash_minimal_integers(unscaled).astype(np.int32).tolist() == [-500_754_589]


@pytest.mark.parametrize("width", [4, 8, 16])
def test_integers_hash_as_their_shortest_bytes(width: int) -> None:
    edges = [
        0,
        -1,
        *(sign * (1 << bits) + off for bits in range(width * 8 - 1) for sign in (1, -1) for off in (-1, 0)),
    ]
    values = [value for value in edges if -(1 << (width * 8 - 1)) <= value < 1 << (width * 8 - 1)]
    rows = np.frombuffer(b"".join(value.to_bytes(width, "big", signed=True) for value in values), np.uint8)
    expected = []
    for value in values:
        size = (value if value >= 0 else ~value).bit_length() // 8 + 1
        expected.append(mmh3.hash(value.to_bytes(size, "big", signed=True), signed=False))
    assert hash_minimal_integers(rows.reshape(-1, width)).tolist() == expected
