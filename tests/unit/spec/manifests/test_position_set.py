"""Sets of positions equal those of pyroaring's own constructor, for any numbers, and their bytes are in its form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from sqlext.spec.manifests.position_set import position_array, position_set

_NUMBERS = st.one_of(
    st.integers(0, 200_000),
    st.integers(2**32 - 3, 2**32 + 3),
    st.integers(0, 2**62),
)


@given(st.lists(_NUMBERS, max_size=60))
def test_a_set_has_the_numbers_given_and_no_other(numbers: list[int]) -> None:
    found = position_set(np.array(numbers, np.int64))

    assert found == BitMap64(numbers)
    assert found.serialize() == BitMap64(numbers).serialize()
    assert position_array(found).tolist() == sorted(set(numbers))


@pytest.mark.parametrize("density", [0.001, 0.2, 0.99])
@pytest.mark.parametrize("type", [np.int64, np.uint64])
def test_many_positions_of_either_type(density: float, type: np.dtype[np.generic]) -> None:
    positions = np.flatnonzero(np.random.default_rng(1).random(300_000) < density)

    assert position_set(positions.astype(type)) == BitMap64(positions.tolist())
