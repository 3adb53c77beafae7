"""How often a statement runs again after conflicts: `write.conflict.max-reruns` times.

If that is not set, it is 10 times, and more within 30 seconds of the first conflict. Processes have no common queue, so
a short statement that each of several processes runs time and again loses most of its runs: of four processes that
upsert the same keys as fast as they can, one in twenty upserts lost eleven runs one after the other, in two seconds. A
long statement is given up after ten reruns, as each costs its whole time.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlext.properties import MAX_RERUNS

_RERUNS = 10
_SECONDS = 30


def has_reruns_left(properties: Mapping[str, str], reruns: int, since_conflict_ms: int) -> bool:
    """Whether a statement that ran again `reruns` times may do so once more, this long after its first conflict."""
    most = MAX_RERUNS.of(properties)
    if most is not None:
        return reruns < most
    return reruns < _RERUNS or since_conflict_ms < 1000 * _SECONDS


def told_limit(properties: Mapping[str, str]) -> str | None:
    """The limit in words; None if statements do not run again."""
    most = MAX_RERUNS.of(properties)
    if most is None:
        return f"{_RERUNS} times, and further until {_SECONDS} s after the first conflict (write.conflict.max-reruns)"
    return f"at most {most} times (write.conflict.max-reruns)" if most else None
