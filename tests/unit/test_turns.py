"""Each parameter set of a test that goes by turns has its turn."""

from __future__ import annotations

import pytest

from turns import taken


@pytest.mark.parametrize(("size", "count"), [(1, 1), (2, 1), (3, 2), (4, 2), (7, 3), (9, 3), (3, 5)])
def test_every_set_has_its_turn_and_none_comes_twice_in_one(size: int, count: int) -> None:
    turns = [taken(turn, size, count) for turn in range(500, 500 + -(-size // count))]
    assert all(len(one) == min(size, count) for one in turns)
    assert frozenset().union(*turns) == frozenset(range(size))
