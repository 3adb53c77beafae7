"""Queue of the threads of one process that commit to one table.

The first thread that loses a race starts the queue. While it exists, each further thread joins its end and waits, so
none loses to a later thread of its process. Without a queue no thread waits.

Turns are advisory: other processes do not see the queue, and an attempt out of turn only risks a lost race. A head that
hangs is removed.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from sqlext.commit.loop.peer_gaps import PeerGaps

# Longer than any attempt, except one that reads many rows again or waits for a store that does not answer.
_PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A commit's place in the queue of its table; `turn` is set when it becomes the head."""

    table: str
    turn: threading.Event = field(default_factory=threading.Event)


class AttemptQueue:
    """The queues of one process by table uuid, and the `gaps` that it leaves to other engines."""

    def __init__(self, wait: Callable[[threading.Event, float], bool] = threading.Event.wait) -> None:
        """`wait` takes an event and seconds, and returns whether the event was set in that time."""
        self.gaps = PeerGaps()
        self._wait = wait
        self._lock = threading.Lock()
        self._lines: dict[str, deque[Place]] = {}
        self._landed: Counter[str] = Counter()

    def landed(self, table: str) -> None:
        """Counts a commit to the table by a thread of this process."""
        with self._lock:
            self._landed[table] += 1

    def commits(self, table: str) -> int:
        """The number of commits to the table that threads of this process have made."""
        with self._lock:
            return self._landed[table]

    def is_behind_others(self, place: Place) -> bool:
        """Whether a queue exists and `place` is not its head."""
        with self._lock:
            line = self._lines.get(place.table)
            return line is not None and line[0] is not place

    def take_turn(self, place: Place, longest_s: float) -> bool:
        """Waits at most `longest_s` seconds until all earlier places have left or hang; returns whether it had to
        wait."""
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
        """Removes `place` from the queue, if it is in it."""
        with self._lock:
            line = self._lines.get(place.table)
            if line is not None and place in line:
                self._remove(line, place)

    def _head_before(self, place: Place) -> Place | None:
        """The head of the queue, to which `place` is added if absent; None if `place` is the head."""
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
