"""How long a commit waits: the ranges from which waits are drawn, and the line of its process."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from small_tables import Clock
from sqlext.commit.loop.attempt_queue import AttemptQueue, Place
from sqlext.commit.loop.pace import RetryPace
from sqlext.errors import CommitConflict

TABLE = "a table"


class Longest(random.Random):
    """Draws the end of each range."""

    def uniform(self, a: float, b: float) -> float:
        return b


def _pace(clock: Clock, queue: AttemptQueue | None = None, properties: Mapping[str, str] | None = None) -> RetryPace:
    return RetryPace(clock, Longest(), clock.sleep, properties or {}, None, queue, TABLE)


def test_the_range_grows_with_the_first_races_lost_and_shrinks_with_the_next() -> None:
    clock = Clock()
    pace = _pace(clock)
    for attempts in range(1, 12):
        pace.wait_for_retry("t", attempts, None)
        pace.tell(has_moved=True)

    assert clock.slept_s == [0.1, 0.2, 0.4, 0.8, 0.4, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1]


def test_where_nobody_lands_the_range_grows_to_its_end() -> None:
    """A server that refuses everything is not asked all the time."""
    clock = Clock()
    pace = _pace(clock)
    for attempts in range(1, 13):
        pace.wait_for_retry("t", attempts, None)
        pace.tell(has_moved=False)
    before = len(clock.slept_s)
    pace.tell(has_moved=True)
    pace.wait_for_retry("t", 13, None)

    assert clock.slept_s[:5] == [0.1, 0.2, 0.4, 0.8, 1.6]
    assert clock.slept_s[before - 2 : before] == [60.0, 60.0]
    assert clock.slept_s[before:] == [0.1]


def test_the_table_says_how_long_waits_may_be() -> None:
    clock = Clock()
    pace = _pace(clock, properties={"commit.retry.min-wait-ms": "10", "commit.retry.max-wait-ms": "50"})
    for attempts in range(1, 6):
        pace.wait_for_retry("t", attempts, None)

    assert clock.slept_s == [0.01, 0.02, 0.04, 0.05, 0.04]


def test_whoever_has_waited_for_its_turn_waits_for_nothing_else() -> None:
    clock, other = Clock(), Place(TABLE)
    queue = AttemptQueue(lambda event, seconds: queue.leave(other) or event.is_set())  # type: ignore[func-returns-value]
    queue.take_turn(other, 1)
    pace = _pace(clock, queue)

    assert pace.wait_for_turn(None)
    assert clock.slept_s == []
    pace.wait_for_retry("t", 1, None)
    assert clock.slept_s == [0.1], "a race lost in its turn was lost to another process"
    pace.end()
    assert not queue.is_behind_others(Place(TABLE))


def test_a_race_lost_to_a_thread_of_the_process_is_tried_again_at_once() -> None:
    """The thread has the turn then: a wait would be one of all threads behind it."""
    clock, queue = Clock(), AttemptQueue()
    pace = _pace(clock, queue)
    queue.landed(TABLE)
    queue.landed("another table")
    pace.wait_for_retry("t", 1, None)
    assert clock.slept_s == []

    queue.landed("another table")
    pace.wait_for_retry("t", 2, None)
    assert clock.slept_s == [0.1], "the second race was lost to another process"
    pace.end()


def test_the_deadline_is_also_that_of_the_line() -> None:
    clock, waited = Clock(), list[float]()

    def wait(event: object, seconds: float) -> bool:
        waited.append(seconds)
        clock.sleep(seconds)
        return False

    queue = AttemptQueue(wait)
    queue.take_turn(Place(TABLE), 1)
    pace = _pace(clock, queue, {"commit.retry.total-timeout-ms": "4000"})

    assert pace.wait_for_turn(None)
    assert waited == [pytest.approx(4, abs=0.01)]
    with pytest.raises(CommitConflict, match="other writers were faster in all of 1 attempts over 4"):
        pace.wait_for_retry("t", 1, None)
