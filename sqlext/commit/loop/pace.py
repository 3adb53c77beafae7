"""How long a commit waits between attempts, and when it gives up.

Threads of one process take turns (`attempt_queue`). Processes do not know of each other, so each waits a random time
from a range that first doubles with each lost race, as there may be many writers, and later shrinks, so that no writer
loses for ever. While no other commit succeeds, races are not the cause, and the range keeps doubling. A busy process
leaves gaps to other engines' writers (`peer_gaps`).
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

# In a model of 2 to 32 processes the slowest commit took up to 3,000 times the median if the range kept doubling, and
# 50 times with this peak. A later peak raises that ratio, an earlier one the number of failed attempts.
_DOUBLINGS = 3
_MAX_DOUBLINGS = 16


class RetryPace:
    """The waits of one commit and its deadline, which runs from construction. `clock` gives ms; all else is in
    seconds."""

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
        """`deadline_s` None: `commit.retry.total-timeout-ms` of the table's `properties`. `queue` is that of the
        process, and `table` the table's uuid in it."""
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
        self._commits_before = self._queue.commits(table)

    def wait_for_turn(self, base: TableMetadata | None) -> bool:
        """Waits before the first attempt, on `base`, for the queue and for a gap; returns whether it waited, so that
        other commits may have succeeded."""
        has_waited = self._queue.is_behind_others(self._place) and self._queue.take_turn(self._place, self._left_s())
        return self._wait_in_gap(base) or has_waited

    def wait_for_retry(self, name: str, attempts: int, base: TableMetadata | None) -> None:
        """Waits after a failed attempt on `base`. Raises `CommitConflict` after the deadline."""
        if self._left_s() <= 0:
            elapsed_s = (self._clock() - self._started_ms) / 1000
            reason = f"other writers were faster in all of {attempts} attempts over {elapsed_s:.1f} s"
            raise CommitConflict("COMMIT_CONFLICT", name=name, reason=reason)
        if not self._queue.take_turn(self._place, self._left_s()) and not self._lost_to_a_thread():
            self._lost_in_turn += 1
            self._sleep(min(self._retry_wait_s(), max(self._left_s(), 0)))
        self._wait_in_gap(base)
        self._commits_before = self._queue.commits(self._place.table)

    def _lost_to_a_thread(self) -> bool:
        """Whether a thread of this process has committed since the last attempt began: no other does so before this
        one, which has the turn now."""
        return self._queue.commits(self._place.table) != self._commits_before

    def status_checks(self) -> Iterator[int]:
        """Numbers of the status checks of a commit without an answer; waits before each but the first."""
        for check in range(COMMIT_STATUS_CHECK_RETRIES.of(self._properties) + 1):
            if check:
                self._sleep(self._check_wait_s(check))
            yield check

    def tell(self, *, has_moved: bool) -> None:
        """Records whether the table has a newer version than the last attempt's base."""
        self._lost_to_nobody = 0 if has_moved else self._lost_to_nobody + 1

    def landed(self, table: TableMetadata) -> None:
        """Records that the commit succeeded, with `table` as the result."""
        self._queue.gaps.landed(table.table_uuid, self._clock())
        self._queue.landed(table.table_uuid)

    def end(self) -> None:
        """Leaves the queue: no further attempt is made."""
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
        """Random, up to a range that doubles with each check after the first, to give a server that is down time."""
        minimum_ms = COMMIT_STATUS_CHECK_MIN_WAIT_MS.of(self._properties)
        range_ms = minimum_ms * 2 ** min(checks - 1, _MAX_DOUBLINGS)
        return self._rng.uniform(0, min(COMMIT_STATUS_CHECK_MAX_WAIT_MS.of(self._properties), range_ms)) / 1000
