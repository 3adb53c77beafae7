"""Tests of many parameters, of which each day's run takes some: `@pytest.mark.turns(2)` says how many.

The others of that day are `long`. The variable SQLEXT_TURN, a whole number, stands for another day.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable

import pytest


def turn() -> int:
    """The number that decides, which goes up by one each day."""
    return int(os.environ.get("SQLEXT_TURN") or datetime.date.today().toordinal())


def taken(turn: int, size: int, count: int) -> frozenset[int]:
    """The indices, below `size`, of the `count` that have their turn; as many turns as there need to be take all."""
    return frozenset((turn * count + number) % size for number in range(min(size, count)))


def take_turns(items: Iterable[pytest.Item], turn: int) -> None:
    """Marks as `long` what does not have its turn. What is `long` in any case takes no part."""
    by_test: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("turns") and not item.get_closest_marker("long"):
            by_test.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for those in by_test.values():
        marker = those[0].get_closest_marker("turns")
        assert marker is not None
        chosen = taken(turn, len(those), marker.args[0])
        for number, item in enumerate(those):
            if number not in chosen:
                item.add_marker(pytest.mark.long)
