"""How long a commit waits between attempts, and when it gives up.

Threads of one process take turns. Processes do not know of each other, so each waits at random: the more races it
loses, the longer, as there may be many others; and from some on the less again, so that it is not overtaken for ever.
Where nobody has landed, and so it was no race that was lost, the waits grow on. A busy process leaves gaps to other
engines' writers (`peer_gaps`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping

from sqlext.commit.loop.attempt_queue import AttemptQueue, Place
from sqlext.errors import CommitConflict
from sqlext.properties import (
    COMMIT_RETRY_MAX_WAIT_MS,
    COMMIT_RETRY_MIN_WAIT_MS,
    COMMIT_RETRY_TOTAL_TIMEOUT_MS,
    COMMIT_STATUS_CHECK_MAX_WAIT_MS,
    COMMIT_STATUS_CHECK_MIN_WAIT_MS,
    COMMIT_STATUS_CHECK_RETRIES,
)
from sqlext.spec.metadata.table_metadata import TableMetadata

# In a model of 2 to 32 processes the slowest commit took up to 3,000 times the median where the range was doubled
# on and on, and 50 times with this peak. A later one makes that more, an earlier one makes more attempts vain.
_DOUBLINGS = 3
_MAX_DOUBLINGS = 16


class Pace:
    """Of one commit, under a deadline that begins with it. Given in ms: `clock`; in seconds: the rest."""

    def __init__(
        self,
        clock: Callable[[], int],
        rng: random.Random,
        sleep: Callable[[float], None],
        properties: Mapping[str, str],
        deadline_s: float | None,
        queue: AttemptQueue | None = None,
        table: str = "",
    ) -> None:
        """`deadline_s` None: `commit.retry.total-timeout-ms` of the table's `properties`. `queue` has the process's
        line for `table`, its uuid."""
        self._clock = clock
        self._rng = rng
        self._sleep = sleep
        self._properties = properties
        limit_ms = COMMIT_RETRY_TOTAL_TIMEOUT_MS.of(properties) if deadline_s is None else int(deadline_s * 1000)
        self._started_ms = clock()
        self._deadline_ms = self._started_ms + limit_ms
        self._queue = queue or AttemptQueue()
        self._place = Place(table)
        self._lost_in_turn = 0
        self._lost_to_nobody = 0

    def wait_for_turn(self, base: TableMetadata | None) -> bool:
        """Before the first attempt, on `base`: waits where others of the process do, and in a gap for other engines.
        Whether it did, and others may have landed."""
        has_waited = self._queue.is_behind_others(self._place) and self._queue.take_turn(self._place, self._left_s())
        return self._wait_in_gap(base) or has_waited

    def wait_for_retry(self, name: str, attempts: int, base: TableMetadata | None) -> None:
        """Waits before the next attempt, after one on `base`; `CommitConflict` when the deadline is past."""
        if self._left_s() <= 0:
            elapsed_s = (self._clock() - self._started_ms) / 1000
            reason = f"other writers were faster in all of {attempts} attempts over {elapsed_s:.1f} s"
            raise CommitConflict("COMMIT_CONFLICT", name=name, reason=reason)
        if not self._queue.take_turn(self._place, self._left_s()):
            self._lost_in_turn += 1
            self._sleep(min(self._retry_wait_s(), max(self._left_s(), 0)))
        self._wait_in_gap(base)

    def status_checks(self) -> Iterator[int]:
        """Numbers the looks at a commit without an answer: the first at once, waiting before each further one."""
        for check in range(COMMIT_STATUS_CHECK_RETRIES.of(self._properties) + 1):
            if check:
                self._sleep(self._check_wait_s(check))
            yield check

    def tell(self, *, has_moved: bool) -> None:
        """Whether the table has a newer version than the one on which the last attempt was made."""
        self._lost_to_nobody = 0 if has_moved else self._lost_to_nobody + 1

    def landed(self, table: TableMetadata) -> None:
        """The commit has, with that version."""
        self._queue.gaps.landed(table.table_uuid, self._clock())

    def end(self) -> None:
        """No further attempt is made: the turn is the next one's."""
        self._queue.leave(self._place)

    def _wait_in_gap(self, base: TableMetadata | None) -> bool:
        wait_ms = 0 if base is None else self._queue.gaps.wait_ms(base, self._clock())
        if wait_ms:
            self._sleep(min(wait_ms / 1000, max(self._left_s(), 0)))
        return wait_ms > 0

    def _left_s(self) -> float:
        return (self._deadline_ms - self._clock()) / 1000

    def _retry_wait_s(self) -> float:
        before = self._lost_in_turn - 1
        doublings = max(min(before, 2 * _DOUBLINGS - before), self._lost_to_nobody, 0)
        range_ms = COMMIT_RETRY_MIN_WAIT_MS.of(self._properties) * 2 ** min(doublings, _MAX_DOUBLINGS)
        return self._rng.uniform(0, min(COMMIT_RETRY_MAX_WAIT_MS.of(self._properties), range_ms)) / 1000

    def _check_wait_s(self, checks: int) -> float:
        """Anything up to the minimum, doubled by each look after the first: a server that is down has time."""
        minimum_ms = COMMIT_STATUS_CHECK_MIN_WAIT_MS.of(self._properties)
        range_ms = minimum_ms * 2 ** min(checks - 1, _MAX_DOUBLINGS)
        return self._rng.uniform(0, min(COMMIT_STATUS_CHECK_MAX_WAIT_MS.of(self._properties), range_ms)) / 1000
