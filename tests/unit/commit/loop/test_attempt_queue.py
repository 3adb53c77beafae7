"""The line of threads that commit to one table. What happens while one waits, its `wait` tells."""

from __future__ import annotations

import threading
from collections.abc import Callable

from sqlext.commit.loop.attempt_queue import AttemptQueue, Place

TABLE, HOUR_S = "a table", 3600.0


class Waits:
    """What happens in each wait, in turn; a wait ends with the event, or with its time."""

    def __init__(self, *happenings: Callable[[], None]) -> None:
        self.happenings = list(happenings)
        self.seconds: list[float] = []

    def __call__(self, event: threading.Event, seconds: float) -> bool:
        self.seconds.append(seconds)
        self.happenings.pop(0)()
        return event.is_set()


def _nothing() -> None:
    """Time goes by."""


def test_the_first_in_line_does_not_wait() -> None:
    waits = Waits()
    queue, place = AttemptQueue(waits), Place(TABLE)

    assert not queue.is_behind_others(place)
    assert not queue.take_turn(place, HOUR_S)
    assert not queue.take_turn(place, HOUR_S), "it has the turn until it leaves"
    assert waits.seconds == []


def test_lines_are_of_one_table_each() -> None:
    queue, other = AttemptQueue(Waits()), Place("another table")
    queue.take_turn(Place(TABLE), HOUR_S)

    assert not queue.is_behind_others(other)
    assert not queue.take_turn(other, HOUR_S)


def test_turns_come_in_the_order_of_arrival() -> None:
    places = [Place(TABLE) for _ in range(4)]
    turns: list[int] = []
    queue = AttemptQueue()

    def commit(number: int) -> None:
        queue.take_turn(places[number], HOUR_S)
        turns.append(number)
        queue.leave(places[number])

    queue.take_turn(places[0], HOUR_S)
    threads = [threading.Thread(target=commit, args=(number,)) for number in (1, 2, 3)]
    for number, thread in enumerate(threads, start=1):
        thread.start()
        while len(queue._lines[TABLE]) <= number:
            """It is on its way to the end of the line."""
    assert all(queue.is_behind_others(place) for place in (*places[1:], Place(TABLE)))
    queue.leave(places[0])
    for thread in threads:
        thread.join()

    assert turns == [1, 2, 3]
    assert not queue.is_behind_others(Place(TABLE))
    assert not queue._lines, "nothing is kept of tables that nobody waits for"


def test_whoever_gives_up_in_the_middle_of_the_line_holds_nobody_up() -> None:
    first, second, third = (Place(TABLE) for _ in range(3))
    waits = Waits(lambda: queue.leave(second), lambda: queue.leave(first))
    queue = AttemptQueue(waits)
    queue.take_turn(first, HOUR_S)
    queue.take_turn(second, 0)

    assert queue.take_turn(third, HOUR_S)
    assert not queue.is_behind_others(third)


def test_a_head_that_hangs_is_passed_by() -> None:
    hanging, waiting = Place(TABLE), Place(TABLE)
    waits = Waits(_nothing)
    queue = AttemptQueue(waits)
    queue.take_turn(hanging, HOUR_S)

    assert queue.take_turn(waiting, HOUR_S)
    assert waits.seconds == [10.0]
    assert queue.is_behind_others(hanging)
    queue.leave(hanging)
    assert queue.is_behind_others(Place(TABLE)), "the turn of the other one is its own"


def test_one_that_hung_gets_in_line_again_at_its_end() -> None:
    hanging, next_one = Place(TABLE), Place(TABLE)
    waits = Waits(_nothing, lambda: queue.leave(next_one))
    queue = AttemptQueue(waits)
    queue.take_turn(hanging, HOUR_S)
    queue.take_turn(next_one, HOUR_S)

    assert queue.take_turn(hanging, HOUR_S)
    assert not queue.is_behind_others(hanging)


def test_a_head_that_changes_has_its_own_time() -> None:
    """It is not passed by for what the one before it has taken."""
    first, second, third = (Place(TABLE) for _ in range(3))
    waits = Waits(lambda: queue.leave(first), _nothing)
    queue = AttemptQueue(waits)
    queue.take_turn(first, HOUR_S)
    queue.take_turn(second, 0)

    assert queue.take_turn(third, 10.0)
    assert not queue.is_behind_others(second)


def test_nobody_waits_longer_than_its_time() -> None:
    first, second = Place(TABLE), Place(TABLE)
    waits = Waits(_nothing)
    queue = AttemptQueue(waits)
    queue.take_turn(first, HOUR_S)

    assert queue.take_turn(second, 3.0)
    assert waits.seconds == [3.0]
    assert not queue.is_behind_others(first), "too short a wait to say that it hangs"
