"""How long a commit waits between attempts, and when it gives up."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping

from sqlext.errors import CommitConflict
from sqlext.properties import (
    COMMIT_RETRY_MAX_WAIT_MS,
    COMMIT_RETRY_MIN_WAIT_MS,
    COMMIT_RETRY_TOTAL_TIMEOUT_MS,
    COMMIT_STATUS_CHECK_MAX_WAIT_MS,
    COMMIT_STATUS_CHECK_MIN_WAIT_MS,
    COMMIT_STATUS_CHECK_RETRIES,
)

# Each further loser of a race doubles the range it draws its wait from; more than that only adds idle time.
_MAX_DOUBLINGS = 16


class Pace:
    """Waits by jitter under a deadline that begins with the commit. Given in ms: `clock`; in seconds: the rest."""

    def __init__(
        self,
        clock: Callable[[], int],
        rng: random.Random,
        sleep: Callable[[float], None],
        properties: Mapping[str, str],
        deadline_s: float | None,
    ) -> None:
        """`deadline_s` None: `commit.retry.total-timeout-ms` of the table's `properties`."""
        self._clock = clock
        self._rng = rng
        self._sleep = sleep
        self._properties = properties
        limit_ms = COMMIT_RETRY_TOTAL_TIMEOUT_MS.of(properties) if deadline_s is None else int(deadline_s * 1000)
        self._started_ms = clock()
        self._deadline_ms = self._started_ms + limit_ms

    def wait_for_retry(self, name: str, attempts: int) -> None:
        """Waits before the next attempt; `CommitConflict` when the deadline is past."""
        now_ms = self._clock()
        if now_ms >= self._deadline_ms:
            elapsed_s = (now_ms - self._started_ms) / 1000
            reason = f"other writers were faster in all of {attempts} attempts over {elapsed_s:.1f} s"
            raise CommitConflict("COMMIT_CONFLICT", name=name, reason=reason)
        wait_ms = self._jittered_ms(
            COMMIT_RETRY_MIN_WAIT_MS.of(self._properties), COMMIT_RETRY_MAX_WAIT_MS.of(self._properties), attempts
        )
        self._sleep(min(wait_ms, self._deadline_ms - now_ms) / 1000)

    def status_checks(self) -> Iterator[int]:
        """Numbers the looks at a commit without an answer: the first at once, waiting before each further one."""
        for check in range(COMMIT_STATUS_CHECK_RETRIES.of(self._properties) + 1):
            if check:
                wait_ms = self._jittered_ms(
                    COMMIT_STATUS_CHECK_MIN_WAIT_MS.of(self._properties),
                    COMMIT_STATUS_CHECK_MAX_WAIT_MS.of(self._properties),
                    check,
                )
                self._sleep(wait_ms / 1000)
            yield check

    def _jittered_ms(self, minimum_ms: int, maximum_ms: int, attempts: int) -> float:
        """Anything up to the minimum, doubled by each attempt after the first: writers that met once spread out."""
        return self._rng.uniform(0, min(maximum_ms, minimum_ms * 2 ** min(attempts - 1, _MAX_DOUBLINGS)))
