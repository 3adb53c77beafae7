"""Whose turn it is to attempt a commit: that of the threads of one process that commit to one table.

The first of them that loses a race begins a line, and as long as there is one, whoever comes takes its end and waits.
So nobody loses to a thread of the same process that came later. Who meets no line does not wait.

It is a courtesy: other processes do not see the line, and an attempt out of turn is a race that somebody loses.
Therefore whoever is at the head for too long, as it hangs, is passed by.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from sqlext.commit.loop.peer_gaps import PeerGaps

# Longer than an attempt takes, but for one that reads many rows again or waits for a store that gives no answer.
_PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """That of one commit in the line of its table; `turn` comes when it is the first."""

    table: str
    turn: threading.Event = field(default_factory=threading.Event)


class AttemptQueue:
    """The lines of one process, and the `gaps` that it leaves to other engines. Tables are told by their uuid."""

    def __init__(self, wait: Callable[[threading.Event, float], bool] = threading.Event.wait) -> None:
        """`wait` is told an event and seconds, and answers whether the event came in that time."""
        self.gaps = PeerGaps()
        self._wait = wait
        self._lock = threading.Lock()
        self._lines: dict[str, deque[Place]] = {}

    def is_behind_others(self, place: Place) -> bool:
        """Whether there is a line, and `place` is not its head."""
        with self._lock:
            line = self._lines.get(place.table)
            return line is not None and line[0] is not place

    def take_turn(self, place: Place, longest_s: float) -> bool:
        """Waits until all that came before have left, hang, or `longest_s` seconds are over. Whether it had to wait."""
        head, left_s = self._head_before(place), longest_s
        if head is None:
            return False
        while head is not None and left_s > 0:
            span_s = min(_PATIENCE_S, left_s)
            if not self._wait(place.turn, span_s):
                left_s -= span_s
                if span_s == _PATIENCE_S:
                    self._pass_by(head)
            head = self._head_before(place)
        return True

    def leave(self, place: Place) -> None:
        """Takes it out of the line, if it is there."""
        with self._lock:
            line = self._lines.get(place.table)
            if line is not None and place in line:
                self._remove(line, place)

    def _head_before(self, place: Place) -> Place | None:
        """Who is at the head of the line, at whose end `place` is put if it is not in it; None where that is itself."""
        with self._lock:
            line = self._lines.setdefault(place.table, deque())
            if place not in line:
                place.turn.clear()
                line.append(place)
            return None if line[0] is place else line[0]

    def _pass_by(self, head: Place) -> None:
        with self._lock:
            line = self._lines.get(head.table)
            if line is not None and line[0] is head:
                self._remove(line, head)

    def _remove(self, line: deque[Place], place: Place) -> None:
        line.remove(place)
        if line:
            line[0].turn.set()
        else:
            del self._lines[place.table]
