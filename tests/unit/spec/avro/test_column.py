"""Columns of byte strings hold what the strings differ in."""

from __future__ import annotations

import numpy as np
import pytest

from sqlext.spec.avro.column import Octets, OneWidth, spread


@pytest.mark.parametrize("width", [0, 1, 4, 7, 16, 95, 96, 160])
def test_byte_strings_of_one_width(width: int) -> None:
    rng = np.random.default_rng(width)
    for rows in (1, 2, 50):
        for places in ([], range(0, width, 3), range(width)):
            values = np.tile(rng.integers(0, 256, width, np.uint8), (rows, 1))
            for place in places:
                values[:, place] = rng.integers(0, 256, rows)
            column = Octets(rows, OneWidth.of(values))
            strings = [row.tobytes() for row in values]
            whole = np.broadcast_to(column.values.array(), values.shape)
            assert np.array_equal(whole, values)
            assert column.width == width
            assert column.pick(range(rows)) == strings
            assert column.one_or_all().to_pylist() in (strings, strings[:1])
            there = np.flatnonzero(rng.random(2 * rows) < 0.5)[:rows]
            given = Octets(len(there), OneWidth.of(values[: len(there)])) if len(there) else column
            if len(there):
                expected = dict(zip(there.tolist(), strings, strict=False))
                assert spread(given, there, 2 * rows).pick(range(2 * rows)) == list(map(expected.get, range(2 * rows)))


def test_bytes_that_are_the_same_in_all_are_held_once() -> None:
    paths = [f"s3://lake/warehouse/db/orders/data/00000-{n:05}-4f0a.parquet".encode() for n in range(1_000)]
    values = np.frombuffer(b"".join(paths), np.uint8).reshape(len(paths), -1)
    held = OneWidth.of(values)
    assert held.nbytes < 5 * len(paths) < values.nbytes
    assert held.pick([0, 999]) == [paths[0], paths[-1]]
