"""Each parameter set of a test that goes by turns has its turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import cast

import pytest

from turns import EVERY, take_turns, taken


@pytest.mark.parametrize(("size", "count"), [(1, 1), (2, 1), (3, 2), (4, 2), (7, 3), (9, 3), (3, 5), (3, EVERY)])
def test_every_set_has_its_turn_and_none_comes_twice_in_one(size: int, count: int) -> None:
    turns = [taken(turn, size, count) for turn in range(500, 500 + -(-size // count))]
    assert all(len(one) == min(size, count) for one in turns)
    assert frozenset().union(*turns) == frozenset(range(size))


class _Item:
    """As much of a pytest item as turns look at."""

    def __init__(self, nodeid: str, fixtures: Sequence[str] = (), *marks: pytest.MarkDecorator) -> None:
        self.nodeid, self.fixturenames, self._marks = nodeid, fixtures, [one.mark for one in marks]

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return next((mark for mark in reversed(self._marks) if mark.name == name), None)

    def add_marker(self, marker: pytest.MarkDecorator) -> None:
        self._marks.append(marker.mark)


def _run(items: Sequence[_Item], turn: int) -> list[str]:
    take_turns(cast("Sequence[pytest.Item]", items), turn)
    return [item.nodeid for item in items if item.get_closest_marker("long") is None]


def test_a_test_of_a_session_has_one_set_a_day_and_others_have_all() -> None:
    seen: Counter[str] = Counter()
    for turn in range(12):
        items = [_Item(f"t.py::of_session[{number}]", ["spark"]) for number in range(12)]
        items += [_Item(f"t.py::plain[{number}]") for number in range(12)]
        items += [_Item(f"t.py::every[{number}]", ["spark"], pytest.mark.turns(EVERY)) for number in range(12)]
        run = _run(items, turn)
        assert len([one for one in run if "of_session" in one]) == 1
        assert len(run) == 1 + 12 + 12
        seen.update(one for one in run if "of_session" in one)
    assert set(seen.values()) == {1}
    assert len(seen) == 12


def test_tests_of_a_pool_are_counted_together() -> None:
    marks = pytest.mark.turns(2, pool="processes")
    seen: set[str] = set()
    for turn in range(3):
        items = [_Item(f"{name}.py::t", (), marks) for name in "abcde"]
        items.append(_Item("f.py::t", (), marks, pytest.mark.long))
        run = _run(items, turn)
        assert len(run) == 2
        seen.update(run)
    assert seen == {f"{name}.py::t" for name in "abcde"}
