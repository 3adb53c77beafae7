"""Tests of many parameters, of which each day's run takes some.

A test of the shared Spark session has one of its parameter sets run each day; `@pytest.mark.turns(6)` says another
number for any test, and `@pytest.mark.turns(EVERY)` all of them. Tests that share a `pool`, as in
`@pytest.mark.turns(2, pool="processes")`, are counted together. The others of that day are `long`. The variable
SQLEXT_TURN, a whole number, stands for another day.
"""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Iterable

import pytest

EVERY = sys.maxsize
_OF_A_SESSION = 1


def turn() -> int:
    """The number that decides, which goes up by one each day."""
    return int(os.environ.get("SQLEXT_TURN") or datetime.date.today().toordinal())


def taken(turn: int, size: int, count: int) -> frozenset[int]:
    """The indices, below `size`, of the `count` that have their turn; as many turns as there need to be take all."""
    return frozenset((turn * count + number) % size for number in range(min(size, count)))


def take_turns(items: Iterable[pytest.Item], turn: int) -> None:
    """Marks as `long` what does not have its turn. What is `long` in any case takes no part."""
    pools: dict[str, list[pytest.Item]] = {}
    counts: dict[str, int] = {}
    for item in items:
        count, pool = _asked(item)
        if count is not None and not item.get_closest_marker("long"):
            pools.setdefault(pool, []).append(item)
            counts[pool] = count
    for pool, those in pools.items():
        chosen = taken(turn, len(those), counts[pool])
        for number, item in enumerate(those):
            if number not in chosen:
                item.add_marker(pytest.mark.long)


def _asked(item: pytest.Item) -> tuple[int | None, str]:
    """How many of its pool run each day, None if all do; and the pool."""
    test = item.nodeid.partition("[")[0]
    marker = item.get_closest_marker("turns")
    if marker is not None:
        return marker.args[0], marker.kwargs.get("pool", test)
    return (_OF_A_SESSION if "spark" in getattr(item, "fixturenames", ()) else None), test
