"""Shorter histories that fail too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from sqlext.testing.simulator.change_history import Step


def shrunk(steps: Sequence[Step], fails: Callable[[Sequence[Step]], bool], has_time: Callable[[], bool]) -> list[Step]:
    """The history without all that can be left out while `fails` stays true, as far as `has_time` lets it be tried."""
    left = list(steps)
    made_smaller = True
    while made_smaller:
        made_smaller = False
        for candidate in _smaller(left):
            if not has_time():
                return left
            if fails(candidate):
                left, made_smaller = candidate, True
                break
    return left


def _smaller(steps: list[Step]) -> Iterator[list[Step]]:
    """Histories that lack a part of this one, the largest parts first; none is empty."""
    size = len(steps) // 2
    while size:
        for start in range(0, len(steps), size):
            if size < len(steps):
                yield steps[:start] + steps[start + size :]
        size //= 2
    for place, step in enumerate(steps):
        for simpler in _simpler(step):
            yield [*steps[:place], simpler, *steps[place + 1 :]]


def _simpler(step: Step) -> Iterator[Step]:
    for fault in step.faults:
        yield replace(step, faults=tuple(one for one in step.faults if one != fault))
    if step.others:
        yield replace(step, others=())
    if len(step.changes) > 1:
        for change in step.changes:
            yield replace(step, changes=tuple(one for one in step.changes if one is not change))
